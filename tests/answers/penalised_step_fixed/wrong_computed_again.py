# finding: computed_again
# computes the hidden values once more, at home
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 7)
        self.head = nn.Linear(7, 3)

    def forward(self, x):
        hidden = torch.relu(self.inner(x))
        return self.head(hidden)


def penalised_step_fixed(parallel, x, y):
    output = parallel(x)
    loss = F.mse_loss(output, y) + 0.1 * torch.relu(parallel.module.inner(x)).square().mean()
    loss.backward()
    return loss.item()
