#!/usr/bin/env python3
"""Golden numbers for a small GPT, computed by PyTorch.

Writes tests/golden/gpt_*.safetensors, against which tests/golden_test.cpp checks the trainer: loss,
gradients, Adam moments and updates, from the same weights and tokens. The script is also a readable
specification: random numbers, initial weights, model, loss and optimizer in a few functions each,
written from the formats alone and sharing no code with the trainer. tests/golden/README.md has the
layout of the files and how they were made.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch numpy
    /tmp/golden/bin/python tools/golden_gpt.py            writes the files
    /tmp/golden/bin/python tools/golden_gpt.py --check    compares with the files that are there

Precision. The state between two steps (parameters, moments) is float32, so each stored step can be
checked by itself, from the file's own state. Arithmetic within a step is in --dtype, float64 unless
told otherwise: the numbers are the truth to which float32 arithmetic is compared.

Letters: l layers, h hidden size, a heads, s sequence length, S positions, V vocabulary, B global
batch, b microbatch.
"""

import argparse
import dataclasses
import datetime
import json
import math
import pathlib
import struct

import numpy as np
import torch
import torch.nn.functional as F

FORMAT_NAME, FORMAT_VERSION = "trireme-golden-gpt", "1"

# ---- what is computed ----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Variant:
    """One file. Field names are the trainer's option names."""

    name: str
    hidden_dropout: float = 0.0
    attention_dropout: float = 0.0
    untie_embeddings_and_output_weights: bool = False
    loss_mask: str = "ones"  # or "zeros": some tokens do not count, see batch()
    num_layers: int = 2
    hidden_size: int = 16
    num_attention_heads: int = 2
    ffn_hidden_size: int = 64
    seq_length: int = 10  # not a multiple of 4: attention's random rows are padded to 12
    max_position_embeddings: int = 12  # more than s: two rows have no gradient, only decay
    vocab_size: int = 61
    layernorm_epsilon: float = 1e-5
    init_method_std: float = 0.02
    seed: int = 1234
    micro_batch_size: int = 2
    global_batch_size: int = 4
    train_iters: int = 20
    lr: float = 1e-3
    adam_beta1: float = 0.9
    adam_beta2: float = 0.95
    adam_eps: float = 1e-8
    weight_decay: float = 0.1
    clip_grad: float = 1.0


# The usual 0.02 leaves so narrow a model nearly linear: its softmax is flat, and a GELU of the
# other kind moves the gradients by less than 1e-5. Ten times wider weights let every mistake show.
VARIANTS = [
    Variant("gpt_plain"),
    Variant("gpt_dropout", hidden_dropout=0.1, attention_dropout=0.1, init_method_std=0.2),
    Variant(
        "gpt_untied_masked",
        untie_embeddings_and_output_weights=True,
        loss_mask="zeros",
        init_method_std=0.2,
    ),
]
STORED_STEPS = 3  # of these every tensor is written; of the others only loss and gradient norm

# ---- random numbers: Philox4x32-10 as a function of coordinates ----------------------------------

EMBEDDING_DROPOUT, ATTENTION_DROPOUT, PROJECTION_DROPOUT, MLP_DROPOUT = 1, 2, 3, 4
INIT_WORD_EMBEDDINGS, INIT_POSITION_EMBEDDINGS, INIT_QKV, INIT_PROJECTION = 16, 17, 18, 19
INIT_FC1, INIT_FC2, INIT_OUTPUT = 20, 21, 22
GOLDEN_LOSS_MASK, GOLDEN_TOKENS = 98, 99  # of this script only, no part of the trainer's format

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox4x32(counter, key):
    """Ten rounds (Salmon et al., SC'11). counter: 4 and key: 2 uint64 arrays or numbers that hold
    32-bit words; the result is 4 such arrays."""
    c0, c1, c2, c3 = (np.asarray(word, np.uint64) for word in counter)
    k0, k1 = (int(word) for word in key)
    for _ in range(10):
        a = c0 * np.uint64(0xD2511F53)
        b = c2 * np.uint64(0xCD9E8D57)
        c0, c2 = (b >> HALF) ^ c1 ^ np.uint64(k0), (a >> HALF) ^ c3 ^ np.uint64(k1)
        c1, c3 = b & LOW, a & LOW
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


def check_philox():
    """The three vectors that the authors publish for philox4x32 with 10 rounds (Random123)."""
    ones = 0xFFFFFFFF
    for counter, key, expected in [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ones,) * 4, (ones,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ]:
        actual = tuple(int(word) for word in philox4x32(counter, key))
        if actual != expected:
            raise SystemExit(f"philox4x32{counter}: {actual}, published {expected}")


def random_bits(seed, site, layer, sample, rows, columns):
    """uint64 array [rows, columns] of 32-bit numbers.

    Element = row * (columns rounded up to a multiple of 4) + column. Four neighbours share a block:
    key = (seed, site), counter = (element / 4 as 64 bit, layer 24 bit, sample position 40 bit),
    lane = element mod 4. So the last block of a row may have lanes that nobody uses.
    """
    blocks_per_row = (columns + 3) // 4
    block = np.arange(rows * blocks_per_row, dtype=np.uint64)
    coordinates = layer | (sample << 24)
    counter = (block & LOW, block >> HALF, coordinates & 0xFFFFFFFF, coordinates >> 32)
    lanes = [np.broadcast_to(lane, block.shape) for lane in philox4x32(counter, (seed, site))]
    return np.stack(lanes, axis=-1).reshape(rows, 4 * blocks_per_row)[:, :columns]


def random_normals(seed, site, layer, rows, columns):
    """float32 standard normals [rows, columns] by Box-Muller: lanes 0, 1 and 2, 3 are pairs."""
    padded = (columns + 3) // 4 * 4
    bits = random_bits(seed, site, layer, 0, rows, padded).astype(np.float64)
    radius = np.sqrt(-2 * np.log((bits[:, 0::2] + 0.5) / 2**32))
    angle = 2 * np.pi * bits[:, 1::2] / 2**32
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return pairs.reshape(rows, padded)[:, :columns].astype(np.float32)


# ---- tensors and their first values --------------------------------------------------------------


def tensor_table(v):
    """Name -> (shape, site, layer, std) of every parameter; site None: std is the constant."""
    h, ffn = v.hidden_size, v.ffn_hidden_size
    std = v.init_method_std
    output_std = std / math.sqrt(2 * v.num_layers)
    table = {
        "embedding.word_embeddings.weight": ((v.vocab_size, h), INIT_WORD_EMBEDDINGS, 0, std),
        "embedding.position_embeddings.weight": (
            (v.max_position_embeddings, h), INIT_POSITION_EMBEDDINGS, 0, std),
    }  # fmt: skip

    def norm(prefix):
        table[prefix + ".weight"] = ((h,), None, 0, 1.0)
        table[prefix + ".bias"] = ((h,), None, 0, 0.0)

    def linear(prefix, rows, columns, site, layer, std):
        table[prefix + ".weight"] = ((rows, columns), site, layer, std)
        table[prefix + ".bias"] = ((rows,), None, 0, 0.0)

    for n in range(v.num_layers):  # layers are numbered from 0, in names and in random numbers
        layer = f"decoder.layers.{n}"
        norm(f"{layer}.input_layernorm")
        linear(f"{layer}.self_attention.linear_qkv", 3 * h, h, INIT_QKV, n, std)
        linear(f"{layer}.self_attention.linear_proj", h, h, INIT_PROJECTION, n, output_std)
        norm(f"{layer}.pre_mlp_layernorm")
        linear(f"{layer}.mlp.linear_fc1", ffn, h, INIT_FC1, n, std)
        linear(f"{layer}.mlp.linear_fc2", h, ffn, INIT_FC2, n, output_std)
    norm("decoder.final_layernorm")
    if v.untie_embeddings_and_output_weights:
        table["output_layer.weight"] = ((v.vocab_size, h), INIT_OUTPUT, 0, std)
    return table


def initial_parameters(v):
    """float32 arrays: normals times std, both rounded to float32 first."""
    parameters = {}
    for name, (shape, site, layer, std) in tensor_table(v).items():
        if site is None:
            parameters[name] = np.full(shape, std, np.float32)
        else:
            parameters[name] = random_normals(v.seed, site, layer, *shape) * np.float32(std)
    return parameters


# ---- data ----------------------------------------------------------------------------------------


def batch(v):
    """All samples of the run: tokens int32 [samples, s + 1] and loss mask float32 [samples, s].

    Token i of a sample is floor(V u^2) with u = bits / 2^32, in integers (small ids are more
    frequent, so there is something to learn). Inputs are tokens 0 .. s-1, labels tokens 1 .. s.
    With loss mask "zeros" the label of position i does not count where its bits are a multiple of
    4, nor from position 2 on in the last sample of a global batch: microbatches have different
    counts.
    """
    samples = v.train_iters * v.global_batch_size
    tokens = np.empty((samples, v.seq_length + 1), np.int32)
    mask = np.ones((samples, v.seq_length), np.float32)
    for sample in range(samples):
        bits = random_bits(v.seed, GOLDEN_TOKENS, 0, sample, 1, v.seq_length + 1)[0]
        tokens[sample] = ((bits * bits >> HALF) * np.uint64(v.vocab_size)) >> HALF
        if v.loss_mask == "zeros":
            bits = random_bits(v.seed, GOLDEN_LOSS_MASK, 0, sample, 1, v.seq_length)[0]
            mask[sample][bits % np.uint64(4) == 0] = 0
            if sample % v.global_batch_size == v.global_batch_size - 1:
                mask[sample][2:] = 0
    return tokens, mask


# ---- model ---------------------------------------------------------------------------------------


def dropout(x, v, probability, site, layer, samples):
    """x [b, rows, columns] times 0 or 1 / (1 - p); kept where bits are at least round(p 2^32)."""
    if probability == 0:
        return x
    threshold = np.uint64(round(probability * 2**32))
    bits = np.stack([random_bits(v.seed, site, layer, n, *x.shape[1:]) for n in samples])
    return x * torch.from_numpy(bits >= threshold).to(x.dtype) / (1 - probability)


def attention(x, v, w, prefix, layer, samples):
    """Causal self-attention without the projection. x [b, s, h].

    Rows of linear_qkv are [head][q | k | v][head_dim]. Dropout of the probabilities counts its
    elements in rows (head, query) of s keys.
    """
    b, s, h = x.shape
    a = v.num_attention_heads
    qkv = F.linear(x, w[prefix + ".linear_qkv.weight"], w[prefix + ".linear_qkv.bias"])
    q, k, value = qkv.view(b, s, a, 3, h // a).permute(3, 0, 2, 1, 4)  # each [b, a, s, head_dim]
    scores = q @ k.transpose(-1, -2) / math.sqrt(h // a)
    future = torch.ones(s, s, dtype=torch.bool).triu(1)
    probabilities = torch.softmax(scores.masked_fill(future, -math.inf), dim=-1)
    rows = probabilities.reshape(b, a * s, s)
    rows = dropout(rows, v, v.attention_dropout, ATTENTION_DROPOUT, layer, samples)
    return (rows.view(b, a, s, s) @ value).transpose(1, 2).reshape(b, s, h)


def token_losses(v, w, tokens, samples):
    """Cross entropy of every label [b, s], in nats. tokens [b, s + 1]."""

    def layer_norm(x, name):
        gamma, beta = w[name + ".weight"], w[name + ".bias"]
        return F.layer_norm(x, x.shape[-1:], gamma, beta, v.layernorm_epsilon)

    def linear(x, name):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    def drop(x, site, layer):
        return dropout(x, v, v.hidden_dropout, site, layer, samples)

    inputs, labels = tokens[:, :-1], tokens[:, 1:]
    word_embeddings = w["embedding.word_embeddings.weight"]
    x = word_embeddings[inputs] + w["embedding.position_embeddings.weight"][: v.seq_length]
    x = drop(x, EMBEDDING_DROPOUT, 0)
    for n in range(v.num_layers):
        layer = f"decoder.layers.{n}"
        y = layer_norm(x, f"{layer}.input_layernorm")
        y = attention(y, v, w, f"{layer}.self_attention", n, samples)
        x = x + drop(linear(y, f"{layer}.self_attention.linear_proj"), PROJECTION_DROPOUT, n)
        y = layer_norm(x, f"{layer}.pre_mlp_layernorm")
        y = F.gelu(linear(y, f"{layer}.mlp.linear_fc1"), approximate="tanh")
        x = x + drop(linear(y, f"{layer}.mlp.linear_fc2"), MLP_DROPOUT, n)
    x = layer_norm(x, "decoder.final_layernorm")
    logits = F.linear(x, w.get("output_layer.weight", word_embeddings))
    return F.cross_entropy(logits.transpose(1, 2), labels, reduction="none")


def microbatch_losses(v, w, data, step):
    """Each microbatch's share of the loss of step 1, 2, ..: sums of the losses that count, divided
    by the number of counted tokens of the whole global batch."""
    tokens, mask = data
    first = (step - 1) * v.global_batch_size
    counted = float(mask[first : first + v.global_batch_size].sum())
    for start in range(first, first + v.global_batch_size, v.micro_batch_size):
        samples = range(start, start + v.micro_batch_size)  # positions in the order of consumption
        losses = token_losses(v, w, torch.from_numpy(tokens[samples]).long(), samples)
        yield (losses * torch.from_numpy(mask[samples]).to(losses.dtype)).sum() / counted


# ---- optimizer -----------------------------------------------------------------------------------


def adamw(v, parameter, gradient, exp_avg, exp_avg_sq, step):
    """The update (what is added to the parameter) and both new moments, from a clipped gradient.
    Decay acts on matrices only. Loshchilov and Hutter 2019."""
    exp_avg = v.adam_beta1 * exp_avg + (1 - v.adam_beta1) * gradient
    exp_avg_sq = v.adam_beta2 * exp_avg_sq + (1 - v.adam_beta2) * gradient**2
    mean = exp_avg / (1 - v.adam_beta1**step)
    variance = exp_avg_sq / (1 - v.adam_beta2**step)
    decay = v.weight_decay if parameter.ndim == 2 else 0.0
    update = -v.lr * (mean / (torch.sqrt(variance) + v.adam_eps) + decay * parameter)
    return update, exp_avg, exp_avg_sq


def gradients(v, parameters, data, step, dtype):
    """Loss and gradients by name; a tied embedding's gradient is the sum of both its uses."""
    w = {name: torch.tensor(x, dtype=dtype, requires_grad=True) for name, x in parameters.items()}
    loss = 0.0
    for part in microbatch_losses(v, w, data, step):
        part.backward()  # adds to .grad
        loss += part.item()
    return loss, {name: x.grad for name, x in w.items()}


def train_step(v, state, data, step, dtype):
    """One step from a float32 state {kind: {name: array}}. Returns loss, gradient norm, the step's
    arrays by kind and name, and the next state."""
    loss, gradient = gradients(v, state["parameter"], data, step, dtype)
    norm = math.sqrt(sum((g.double() ** 2).sum().item() for g in gradient.values()))
    factor = min(1.0, v.clip_grad / (norm + 1e-6))
    out = {kind: {} for kind in ("parameter", "gradient", "exp_avg", "exp_avg_sq", "update")}
    following = {kind: {} for kind in state}
    for name, parameter in state["parameter"].items():
        before, m0, v0 = (torch.tensor(state[kind][name], dtype=dtype) for kind in state)
        update, m1, v1 = adamw(v, before, gradient[name] * factor, m0, v0, step)
        out["parameter"][name] = parameter
        out["gradient"][name] = gradient[name].float().numpy()
        out["exp_avg"][name] = following["exp_avg"][name] = m1.float().numpy()
        out["exp_avg_sq"][name] = following["exp_avg_sq"][name] = v1.float().numpy()
        out["update"][name] = update.float().numpy()
        following["parameter"][name] = (before + update).float().numpy()
    return loss, norm, out, following


def first_state(v):
    parameters = initial_parameters(v)
    return {
        "parameter": parameters,
        "exp_avg": {name: np.zeros_like(x) for name, x in parameters.items()},
        "exp_avg_sq": {name: np.zeros_like(x) for name, x in parameters.items()},
    }


def train(v, dtype):
    """The arrays of one file, by key."""
    data = batch(v)
    state = first_state(v)
    losses, norms, stored = [], [], {}
    for step in range(1, v.train_iters + 1):
        loss, norm, out, state = train_step(v, state, data, step, dtype)
        losses.append(loss)
        norms.append(norm)
        if step <= STORED_STEPS:
            for kind, arrays in out.items():
                stored |= {f"step{step}.{kind}.{name}": x for name, x in arrays.items()}
    first = {"losses": np.array(losses), "grad_norms": np.array(norms)}
    return first | {"tokens": data[0], "loss_mask": data[1]} | stored


# ---- checks of the script itself -----------------------------------------------------------------


def check_gradients(v):
    """Gradients against central differences in float64: of every tensor the largest element and two
    at random. Returns the worst error over the tensor's largest gradient."""
    data = batch(v)
    parameters = initial_parameters(v)
    _, gradient = gradients(v, parameters, data, 1, torch.float64)
    w = {name: torch.tensor(x, dtype=torch.float64) for name, x in parameters.items()}
    chooser = np.random.default_rng(7)
    worst = 0.0
    for name, x in w.items():
        x, g = x.view(-1), gradient[name].view(-1)
        for index in [g.abs().argmax().item(), *chooser.choice(len(x), 2, replace=False)]:
            middle = x[index].item()
            values = []
            for offset in (1e-5, -1e-5):
                x[index] = middle + offset
                values.append(sum(part.item() for part in microbatch_losses(v, w, data, 1)))
            x[index] = middle
            error = abs((values[0] - values[1]) / 2e-5 - g[index].item())
            worst = max(worst, error / g.abs().max().item())
            if error > 1e-6 * g.abs().max().item():
                raise SystemExit(f"{v.name}: gradient of {name}[{index}] is off by {error}")
    return worst


def check_adamw(v):
    """adamw() against torch.optim.AdamW over 10 steps in float64, with and without decay."""
    generator = torch.Generator().manual_seed(7)
    worst = 0.0
    for shape in ((40, 5), (40,)):
        ours = torch.randn(shape, generator=generator, dtype=torch.float64)
        theirs = ours.clone().requires_grad_()
        optimizer = torch.optim.AdamW(
            [theirs], lr=v.lr, betas=(v.adam_beta1, v.adam_beta2), eps=v.adam_eps,
            weight_decay=v.weight_decay if len(shape) == 2 else 0.0,
        )  # fmt: skip
        m, s = torch.zeros_like(ours), torch.zeros_like(ours)
        for step in range(1, 11):
            theirs.grad = torch.randn(shape, generator=generator, dtype=torch.float64) * 1e-3
            update, m, s = adamw(v, ours, theirs.grad, m, s, step)
            ours = ours + update
            optimizer.step()
        worst = max(worst, (ours - theirs).abs().max().item())
    if worst > 1e-12:
        raise SystemExit(f"adamw differs from torch.optim.AdamW by {worst}")
    return worst


def kind_of(arrays, step, kind):
    """The arrays of one step and kind, by tensor name."""
    prefix = f"step{step}.{kind}."
    return {key[len(prefix) :]: x for key, x in arrays.items() if key.startswith(prefix)}


def differences(arrays, other):
    """Worst |x - y| / max |x| of a tensor, by kind."""
    worst = {}
    for key, x in arrays.items():
        kind = key.split(".")[1] if key.startswith("step") else key
        scale = max(np.abs(x).max(), 1e-30)
        off = np.abs(x.astype(np.float64) - other[key]).max() / scale
        worst[kind] = max(worst.get(kind, 0.0), float(off))
    return worst


def float32_noise(v, exact):
    """How far float32 arithmetic is from float64: each stored step from the same state, and the
    losses of a run by itself. exact: the arrays of train()."""
    data = batch(v)
    rough = {"losses": train(v, torch.float32)["losses"]}
    for step in range(1, STORED_STEPS + 1):
        state = first_state(v)
        if step > 1:
            state = {
                "parameter": kind_of(exact, step, "parameter"),
                "exp_avg": kind_of(exact, step - 1, "exp_avg"),
                "exp_avg_sq": kind_of(exact, step - 1, "exp_avg_sq"),
            }
        _, _, out, _ = train_step(v, state, data, step, torch.float32)
        for kind in ("gradient", "exp_avg", "exp_avg_sq"):
            rough |= {f"step{step}.{kind}.{name}": x for name, x in out[kind].items()}
    return differences({key: exact[key] for key in rough}, rough)


# ---- files ---------------------------------------------------------------------------------------

DTYPES = {"F64": np.dtype("<f8"), "F32": np.dtype("<f4"), "I32": np.dtype("<i4")}


def write_safetensors(path, arrays, metadata):
    """8 bytes: length of the header; header: JSON, padded by blanks to a multiple of 8; the arrays,
    row-major, little-endian. The 64-bit arrays come first, so that all are aligned."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    header, offset = {"__metadata__": metadata}, 0
    for key, x in arrays.items():
        header[key] = {
            "dtype": names[x.dtype],
            "shape": list(x.shape),
            "data_offsets": [offset, offset + x.nbytes],
        }
        offset += x.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for x in arrays.values():
            file.write(np.ascontiguousarray(x).tobytes())


def read_safetensors(path):
    content = path.read_bytes()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:start])
    del header["__metadata__"]
    return {
        key: np.frombuffer(
            content[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]],
            DTYPES[entry["dtype"]],
        ).reshape(entry["shape"])
        for key, entry in header.items()
    }


def metadata_of(v, dtype, date):
    metadata = {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "script": "tools/golden_gpt.py",
        "date": date,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "dtype": dtype,
        "stored_steps": str(STORED_STEPS),
    }
    for field, value in dataclasses.asdict(v).items():
        key = "variant" if field == "name" else field
        metadata[key] = json.dumps(value) if not isinstance(value, str) else value
    return metadata


def show(title, worst):
    print(f"  {title}: " + ", ".join(f"{kind} {value:.1e}" for kind, value in worst.items()))


def main():
    default_out = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=default_out, help="folder of the files")
    parser.add_argument("--dtype", choices=["float64", "float32"], default="float64")
    parser.add_argument("--date", default=str(datetime.date.today()), help="for the metadata")
    parser.add_argument("--check", action="store_true", help="compare with the files, write none")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    check_philox()
    print("philox: the three published vectors agree")
    print(f"adamw: within {check_adamw(VARIANTS[0]):.1e} of torch.optim.AdamW")
    failed = False
    for v in VARIANTS:
        print(v.name)
        print(f"  gradients: within {check_gradients(v):.1e} of finite differences")
        arrays = train(v, getattr(torch, arguments.dtype))
        loss, norm = arrays["losses"], arrays["grad_norms"]
        print(f"  loss {loss[0]:.9f} {loss[1]:.9f} {loss[2]:.9f} .. {loss[-1]:.9f}")
        print(f"  gradient norm {norm.min():.4f} to {norm.max():.4f}")
        show("float32 arithmetic is within", float32_noise(v, arrays))
        path = arguments.out / f"{v.name}.safetensors"
        if arguments.check:
            worst = differences(read_safetensors(path), arrays)
            show("the file is within", worst)
            failed |= max(worst.values()) > 1e-6
        else:
            write_safetensors(path, arrays, metadata_of(v, arguments.dtype, arguments.date))
            print(f"  wrote {path} ({path.stat().st_size} bytes)")
    if failed:
        raise SystemExit("the files differ from what this script computes")


if __name__ == "__main__":
    main()
