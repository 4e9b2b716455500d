# finding: penalty_lost
# leaves the penalty out
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 7)
        self.head = nn.Linear(7, 3)

    def forward(self, x):
        return self.head(torch.relu(self.inner(x)))


def penalised_step_fixed(parallel, x, y):
    loss = F.mse_loss(parallel(x), y)
    loss.backward()
    return loss.item()
