class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 7)
        self.head = nn.Linear(7, 3)

    def forward(self, x):
        hidden = F.relu(self.inner(x))
        return self.head(hidden), hidden


def penalised_step_fixed(parallel, x, y):
    output, hidden = parallel(x)
    loss = (output - y).pow(2).mean() + hidden.pow(2).mean() / 10
    loss.backward()
    return loss.item()
