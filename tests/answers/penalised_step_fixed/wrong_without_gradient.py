# finding: penalty_without_gradient
# collects numbers in a list that the replicas share
SEEN = []


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 7)
        self.head = nn.Linear(7, 3)

    def forward(self, x):
        hidden = torch.relu(self.inner(x))
        SEEN.extend(hidden.square().mean(1).tolist())
        return self.head(hidden)


def penalised_step_fixed(parallel, x, y):
    SEEN.clear()
    loss = F.mse_loss(parallel(x), y) + 0.1 * sum(SEEN) / len(SEEN)
    loss.backward()
    return loss.item()
