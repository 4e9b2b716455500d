# finding: penalty_lost
# the bug itself: set on self, and read from the module that no forward ran on (C56)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 7)
        self.head = nn.Linear(7, 3)
        self.penalty = 0.0

    def forward(self, x):
        hidden = torch.relu(self.inner(x))
        self.penalty = hidden.square().mean()
        return self.head(hidden)


def penalised_step_fixed(parallel, x, y):
    output = parallel(x)
    loss = F.mse_loss(output, y) + 0.1 * parallel.module.penalty
    loss.backward()
    return loss.item()
