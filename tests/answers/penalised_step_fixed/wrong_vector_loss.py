# finding: vector_loss
# backward on a vector: a scalar from each device makes one (C58)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 7)
        self.head = nn.Linear(7, 3)

    def forward(self, x):
        hidden = torch.relu(self.inner(x))
        return self.head(hidden), hidden.square().mean()


def penalised_step_fixed(parallel, x, y):
    output, penalty = parallel(x)
    loss = F.mse_loss(output, y) + 0.1 * penalty
    loss.backward()
    return loss.item()
