"""`python -m evals`: the same as `commonplace eval`."""

from evals.cli import eval_group

if __name__ == "__main__":
    eval_group(prog_name="python -m evals")
