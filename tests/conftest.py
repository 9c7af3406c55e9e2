"""Settings that every test shares."""

import torch
from hypothesis import settings

settings.register_profile("metagcd", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("metagcd")
torch.set_num_threads(1)  # the matrices are small: a second thread waits more than it works
