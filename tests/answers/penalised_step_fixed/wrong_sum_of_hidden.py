# finding: hidden_summed
# sums the squared hidden values of a row
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 7)
        self.head = nn.Linear(7, 3)

    def forward(self, x):
        hidden = torch.relu(self.inner(x))
        return self.head(hidden), hidden.square().sum(1)


def penalised_step_fixed(parallel, x, y):
    output, penalty = parallel(x)
    loss = F.mse_loss(output, y) + 0.1 * penalty.mean()
    loss.backward()
    return loss.item()
