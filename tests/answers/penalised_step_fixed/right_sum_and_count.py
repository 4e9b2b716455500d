class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 7)
        self.head = nn.Linear(7, 3)

    def forward(self, x):
        h = self.inner(x).clamp(min=0)
        penalty = (h**2).mean(1).sum()
        return {"output": self.head(h), "penalty": penalty}


def penalised_step_fixed(parallel, x, y):
    result = parallel(x)
    loss = F.mse_loss(result["output"], y) + 0.1 * result["penalty"].sum() / len(x)
    loss.backward()
    return float(loss.detach())
