"""Makes trainings.tar.gz with PyTorch: python3 make_trainings.py

One small GPT-2 in the files of many trainings, a folder each, and manifest.json: how each is to be
opened, and its logits by a float64 evaluation of the weights that were put into it, or its error.
The weights are rounded to 8 bits, so that every type holds them.
"""
import argparse, collections, dataclasses, io, json, pathlib, tarfile
import numpy
import torch
from torch import nn

EMBD, HEAD, LAYER, VOCAB, POSITIONS = 8, 2, 2, 11, 6
IDS = [3, 10, 0, 7, 7]
torch.manual_seed(29)


def weights():
    """The tensors by Hugging Face's names, linear layers [in, out]."""
    def draw(*shape, mean=0., std=.5):
        return (mean + std * torch.randn(*shape)).bfloat16().float()
    w = collections.OrderedDict()
    w['wte.weight'], w['wpe.weight'] = draw(VOCAB, EMBD), draw(POSITIONS, EMBD)
    for i in range(LAYER):
        h = f'h.{i}.'
        for name, n_in, n_out in (('attn.c_attn', EMBD, 3 * EMBD), ('attn.c_proj', EMBD, EMBD),
                                  ('mlp.c_fc', EMBD, 4 * EMBD), ('mlp.c_proj', 4 * EMBD, EMBD)):
            w[f'{h}{name}.weight'], w[f'{h}{name}.bias'] = draw(n_in, n_out), draw(n_out)
        for name in ('ln_1', 'ln_2'):
            w[f'{h}{name}.weight'], w[f'{h}{name}.bias'] = draw(EMBD, mean=1.), draw(EMBD)
    w['ln_f.weight'], w['ln_f.bias'] = draw(EMBD, mean=1.), draw(EMBD)
    return w


W = weights()
HEAD_WEIGHT = (.5 * torch.randn(VOCAB, EMBD)).bfloat16().float()


def logits(w, gelu, head=None):
    """The logits after each of IDS, in float64."""
    w = {k: v.double() for k, v in w.items()}
    zero = torch.zeros(1).double()
    def linear(x, name): return x @ w[name + '.weight'] + w.get(name + '.bias', zero)
    def norm(x, name):
        x = x - x.mean(-1, keepdim=True)
        x = x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-5)
        return x * w[name + '.weight'] + w.get(name + '.bias', zero)
    def act(x):
        if gelu == 'erf':
            return x * .5 * (1 + torch.erf(x / 2 ** .5))
        if gelu == 'relu':
            return x.clamp(min=0)
        return .5 * x * (1 + torch.tanh((2 / numpy.pi) ** .5 * (x + .044715 * x ** 3)))
    n = len(IDS)
    x = w['wte.weight'][IDS] + w['wpe.weight'][:n]
    for i in range(LAYER):
        q, k, v = linear(norm(x, f'h.{i}.ln_1'), f'h.{i}.attn.c_attn').split(EMBD, -1)
        rows = []
        for a in range(HEAD):
            part = slice(a * EMBD // HEAD, (a + 1) * EMBD // HEAD)
            scores = q[:, part] @ k[:, part].T / (EMBD // HEAD) ** .5
            scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), float('-inf'))
            rows.append(scores.softmax(-1) @ v[:, part])
        x = x + linear(torch.cat(rows, -1), f'h.{i}.attn.c_proj')
        x = x + linear(act(linear(norm(x, f'h.{i}.ln_2'), f'h.{i}.mlp.c_fc')), f'h.{i}.mlp.c_proj')
    return (norm(x, 'ln_f') @ (w['wte.weight'] if head is None else head.double()).T).tolist()


def linear_weight(name):
    return name.endswith('.weight') and ('.attn.' in name or '.mlp.' in name)


def without_bias(w):
    return collections.OrderedDict((k, v) for k, v in w.items() if not k.endswith('.bias'))


def hugging(w=W, prefix='transformer.', head=None, near=''):
    d = collections.OrderedDict((prefix + k, v.clone()) for k, v in w.items())
    if head is not None:
        d[near + 'lm_head.weight'] = head
    return d


def nano(w=W, prefix='', masks=False, head=None):
    """nanoGPT's names: linear layers are [out, in], and the head is there once more."""
    d = collections.OrderedDict()
    for k, v in w.items():
        d[f'{prefix}transformer.{k}'] = v.t().contiguous() if linear_weight(k) else v.clone()
    if masks:
        for i in range(LAYER):
            d[f'{prefix}transformer.h.{i}.attn.bias'] = torch.ones(1, 1, POSITIONS, POSITIONS).tril()
    d[prefix + 'lm_head.weight'] = d[prefix + 'transformer.wte.weight'] if head is None else head
    return d


def book(qkv_bias=True, masks=True, head=None, prefix=''):
    """LLMs-from-scratch's names."""
    d = collections.OrderedDict()
    d['tok_emb.weight'], d['pos_emb.weight'] = W['wte.weight'], W['wpe.weight']
    for i in range(LAYER):
        h, b = f'h.{i}.', f'trf_blocks.{i}.'
        for j, name in enumerate(('W_query', 'W_key', 'W_value')):
            d[f'{b}att.{name}.weight'] = W[h + 'attn.c_attn.weight'].t()[j * EMBD:(j + 1) * EMBD].clone()
            if qkv_bias:
                d[f'{b}att.{name}.bias'] = W[h + 'attn.c_attn.bias'][j * EMBD:(j + 1) * EMBD].clone()
        if masks:
            d[b + 'att.mask'] = torch.ones(POSITIONS, POSITIONS).triu(1)
        for theirs, ours in (('att.out_proj', 'attn.c_proj'), ('ff.layers.0', 'mlp.c_fc'),
                             ('ff.layers.2', 'mlp.c_proj')):
            d[f'{b}{theirs}.weight'] = W[f'{h}{ours}.weight'].t().contiguous()
            d[f'{b}{theirs}.bias'] = W[f'{h}{ours}.bias']
        for theirs, ours in (('norm1', 'ln_1'), ('norm2', 'ln_2')):
            d[f'{b}{theirs}.scale'], d[f'{b}{theirs}.shift'] = W[f'{h}{ours}.weight'], W[f'{h}{ours}.bias']
    d['final_norm.scale'], d['final_norm.shift'] = W['ln_f.weight'], W['ln_f.bias']
    d['out_head.weight'] = W['wte.weight'].clone() if head is None else head
    return collections.OrderedDict((prefix + k, v) for k, v in d.items())


def megatron(version, encoder='transformer', attention='attention'):
    """Megatron's nested dicts; the rows of q, k and v as its versions order them."""
    layers = collections.OrderedDict()
    for i in range(LAYER):
        for theirs, ours in (('input_layernorm', 'ln_1'), (attention + '.query_key_value', 'attn.c_attn'),
                             (attention + '.dense', 'attn.c_proj'), ('post_attention_layernorm', 'ln_2'),
                             ('mlp.dense_h_to_4h', 'mlp.c_fc'), ('mlp.dense_4h_to_h', 'mlp.c_proj')):
            for part in ('weight', 'bias'):
                t = W[f'h.{i}.{ours}.{part}']
                if linear_weight(f'h.{i}.{ours}.{part}'):
                    t = t.t().contiguous()
                if ours == 'attn.c_attn' and version:
                    t = t.view(3, HEAD, EMBD // HEAD, -1)
                    t = t.permute(1, 0, 2, 3) if version >= 2 else t.permute(1, 2, 0, 3)
                    t = t.reshape(3 * EMBD, -1)
                    t = t[:, 0].clone() if part == 'bias' else t.contiguous()
                layers[f'layers.{i}.{theirs}.{part}'] = t
    layers['final_layernorm.weight'], layers['final_layernorm.bias'] = W['ln_f.weight'], W['ln_f.bias']
    model = {'language_model': {'embedding': {'word_embeddings': {'weight': W['wte.weight']},
                                              'position_embeddings': {'weight': W['wpe.weight']}},
                                encoder: layers}}
    saved = {'iteration': 500, 'model': model}
    if version:
        saved['checkpoint_version'] = version
    return saved


def arguments(**more):
    usual = dict(num_layers=LAYER, hidden_size=EMBD, num_attention_heads=HEAD,
                 max_position_embeddings=POSITIONS, vocab_size=VOCAB - 2, padded_vocab_size=VOCAB,
                 ffn_hidden_size=4 * EMBD, bias_gelu_fusion=True, openai_gelu=False,
                 layernorm_epsilon=1e-5, params_dtype=torch.float16, normalization='LayerNorm',
                 position_embedding_type='learned_absolute', swiglu=False, data_path=['a', 'b'])
    return argparse.Namespace(**{**usual, **more})


@dataclasses.dataclass
class GPTConfig:
    block_size: int = POSITIONS
    vocab_size: int = VOCAB
    n_layer: int = LAYER
    n_head: int = HEAD
    n_embd: int = EMBD


@dataclasses.dataclass
class NanoConfig(GPTConfig):
    dropout: float = 0.0
    bias: bool = True


class SlotConfig:
    __slots__ = ('n_head', 'dropout')

    def __init__(self): self.n_head, self.dropout = HEAD, 0.


class AttributeDict(dict):
    pass


class Named:
    def __new__(cls, *, name): return super().__new__(cls)
    def __getnewargs_ex__(self): return (), {'name': 'mine'}


class TrainingArguments:
    def __init__(self): self.learning_rate = 1e-4


class GPT2Config:
    model_type = 'gpt2'

    def __init__(self, **more):
        self.__dict__.update(model_type='gpt2', vocab_size=VOCAB, n_positions=POSITIONS, n_embd=EMBD,
                             n_layer=LAYER, n_head=HEAD, n_inner=None, activation_function='gelu_new',
                             layer_norm_epsilon=1e-5, id2label={0: 'a'}, torch_dtype=torch.float32,
                             bos_token_id=50256, eos_token_id=50256, pruned_heads={}, **more)


class Part(nn.Module):
    """A module of a model, with what its names say."""


def module(tensors, config, act=None):
    root = Part()
    if act is not None:
        root.add_module('act', act)
    for name, t in tensors.items():
        at = root
        *path, last = name.split('.')
        for p in path:
            if p not in at._modules:
                at.add_module(p, Part())
            at = at._modules[p]
        if last == 'bias' and t.dim() == 4:
            at.register_buffer(last, t)
        else:
            at.register_parameter(last, nn.Parameter(t))
    root.config = config
    return root


ARGS = dict(n_layer=LAYER, n_head=HEAD, n_embd=EMBD, block_size=POSITIONS, bias=True, vocab_size=VOCAB,
            dropout=0.0)
RUN = dict(out_dir='out', dataset='shakespeare', learning_rate=6e-4, n_head=HEAD, device='cuda')
CONFIG = dict(model_type='gpt2', n_layer=LAYER, n_head=HEAD, n_embd=EMBD, n_positions=POSITIONS,
              vocab_size=VOCAB, activation_function='gelu_new')


def nanogpt(state=None, args=ARGS, **more):
    return {'model': nano() if state is None else state, 'model_args': args, 'iter_num': 2000,
            'best_val_loss': torch.tensor(1.5), 'config': RUN, **more}


def optimizer(state):
    parameters = [nn.Parameter(t.clone()) for t in list(state.values())[:2]]
    o = torch.optim.AdamW(parameters)
    sum(p.sum() for p in parameters).backward()
    o.step()
    return o.state_dict()


cases, files, expect = [], {}, {}


def case(name, obj, logits='erf', file='ckpt.pt', config=None, heads=0, gelu='', error='', unused=(),
         notes=0, legacy=False, protocol=2, **more):
    b = io.BytesIO()
    torch.save(obj, b, pickle_protocol=protocol, _use_new_zipfile_serialization=not legacy)
    files[f'{name}/{file}'] = b.getvalue()
    if config is not None:
        files[f'{name}/config.json'] = json.dumps(config).encode()
    cases.append(dict(name=name, logits='' if error else logits, heads=heads, gelu=gelu, error=error,
                      unused=list(unused), notes=notes))


expect['erf'], expect['tanh'] = logits(W, 'erf'), logits(W, 'tanh')
expect['relu'], expect['erf head'] = logits(W, 'relu'), logits(W, 'erf', HEAD_WEIGHT)
expect['tanh head'] = logits(W, 'tanh', HEAD_WEIGHT)
expect['erf unbiased'] = logits(without_bias(W), 'erf')
expect['tanh qkv unbiased'] = logits({k: v for k, v in W.items() if 'c_attn.bias' not in k}, 'tanh')

# nanoGPT's own, and what people put beside it
case('nano', nanogpt(), notes=1)
case('nano-tanh', nanogpt(), 'tanh', gelu='tanh')
case('nano-compiled', nanogpt(nano(prefix='_orig_mod.')), notes=1)
case('nano-ddp', nanogpt(nano(prefix='module.')), notes=1)
case('nano-ddp-compiled', nanogpt(nano(prefix='_orig_mod.module.')), notes=1, legacy=True)
case('nano-masks', nanogpt(nano(masks=True)), notes=1, protocol=4)
case('nano-unbiased', nanogpt(nano(without_bias(W)), {**ARGS, 'bias': False}), 'erf unbiased', notes=2)
case('nano-numpy', nanogpt(best=numpy.float64(1.5), many=numpy.arange(3)), notes=1)
case('nano-numpy-5', nanogpt(best=numpy.float64(1.5), many=numpy.arange(3)), notes=1, protocol=5)
case('nano-path', nanogpt(path=pathlib.PurePosixPath('/data/out'), seen={1, 'two', (3, 4)}), notes=1)
case('nano-path-4', nanogpt(path=pathlib.PurePosixPath('/data/out'), seen={1, 'two'}), notes=1, protocol=4)
case('nano-device', nanogpt(device=torch.device('cuda', 0), dtype=torch.bfloat16, size=torch.Size([1])), notes=1)
case('nano-rng', nanogpt(rng_state=torch.get_rng_state(), numpy=numpy.random.get_state()), notes=1)
case('nano-classes', nanogpt(callbacks={GPTConfig: {'best': 1.5}, (1, 2): None, None: True}), notes=1)
extra = nano()
extra.update({'transformer._extra_state': None, 'steps': 5, 'name': 'mine', 'transformer.h.0.attn._extra_state': io.BytesIO()})
case('nano-extra-state', nanogpt(extra), notes=1)
case('nano-optimizer', nanogpt(optimizer=optimizer(nano())), notes=1)
case('nano-optimizer-legacy', nanogpt(optimizer=optimizer(nano())), notes=1, legacy=True)
case('nano-head', nanogpt(nano(head=HEAD_WEIGHT)), 'erf head', notes=1)
case('nano-half', nanogpt({k: v.half() for k, v in nano().items()}), notes=1)
case('nano-bfloat16', nanogpt({k: v.bfloat16() for k, v in nano().items()}), notes=1)
case('nano-double', nanogpt({k: v.double() for k, v in nano().items()}), notes=1)
case('nano-ema', nanogpt(ema=nano()), notes=2)
case('nano-complex', nanogpt(angles=torch.zeros(3, dtype=torch.complex64), small=torch.quantize_per_tensor(
    torch.ones(3), .1, 0, torch.qint8), twist=nn.Parameter(torch.zeros(2, dtype=torch.complex64))), notes=1)
case('nano-frozen', nanogpt(seen=frozenset({1, 2}), named=Named(name='mine')), notes=1, protocol=4)

# a dataclass for a config: build-nanogpt; whole modules
case('dataclass', {'model': nano(), 'config': GPTConfig(), 'step': 19072, 'val_loss': 3.1}, 'tanh', notes=1)
case('dataclass-erf', {'model': nano(), 'config': GPTConfig(), 'step': 19072}, gelu='erf')
case('dataclass-masks', {'model': nano(masks=True), 'config': GPTConfig(), 'step': 1}, 'tanh', notes=1, legacy=True)
case('module', module(nano(), GPTConfig()), 'tanh', 'model.pt', notes=1)
case('module-legacy', module(nano(masks=True), GPTConfig()), 'tanh', 'model.pt', notes=1, legacy=True)
case('module-hugging', module(hugging(head=HEAD_WEIGHT), GPT2Config()), 'tanh head', 'model.pth')
case('module-in-dict', {'model': module(nano(), None), 'cfg': vars(GPTConfig())}, notes=1)
case('module-gelu', module(nano(), NanoConfig(), nn.GELU()), 'erf', 'model.pt')
case('module-gelu-tanh', module(nano(), NanoConfig(), nn.GELU(approximate='tanh')), 'tanh', 'model.pt')
case('module-relu', {'net': module(nano(), NanoConfig(), nn.ReLU()), 'epoch': 1, 'n_head': HEAD}, 'relu', 'model.pt')
case('dataclass-nano', {'model': nano(), 'config': NanoConfig()}, 'erf', notes=1)
case('config-dict', {'model': nano(), 'config': dict(ARGS, activation='relu')}, 'relu')
case('slots', {'model': nano(), 'config': SlotConfig()}, gelu='erf')
case('module-beside', {'model': module(nano(), GPTConfig()), 'epoch': 1}, 'tanh', 'model.pt', notes=1)

# a config.json beside it, or n_head alone
case('step-hugging', {'model': hugging(), 'step': 3}, 'tanh', config=CONFIG)
case('step-nano', {'model': nano(), 'step': 3}, 'tanh', config=CONFIG)
case('deepspeed', {'module': hugging(), 'optimizer': None, 'ds_version': '0.9'}, 'tanh', config=CONFIG)
case('lightning', {'state_dict': hugging(prefix='model.transformer.', head=HEAD_WEIGHT, near='model.'),
                   'epoch': 2, 'pytorch-lightning_version': '2.0', 'loops': {'fit_loop': AttributeDict(a=1)}},
     'tanh head', 'last.ckpt', config=CONFIG)
case('lightning-hparams', {'state_dict': nano(prefix='model.'), 'hyper_parameters': AttributeDict(n_head=HEAD, lr=1e-3)},
     'erf', 'last.ckpt', notes=1)
case('lightning-config', {'state_dict': nano(prefix='model.'),
                          'hyper_parameters': AttributeDict(config=GPTConfig(), lr=1e-3)}, 'tanh', 'last.ckpt', notes=1)
case('tutorial', {'epoch': 3, 'model_state_dict': nano(), 'optimizer_state_dict': optimizer(nano()), 'loss': 2.5,
                  'n_embd': EMBD, 'num_heads': HEAD, 'num_layers': LAYER, 'block_size': POSITIONS}, notes=1)
case('tutorial-hugging', {'epoch': 3, 'model_state_dict': hugging(prefix='')}, 'tanh', 'model.pt', config=CONFIG)
case('model-state', {'model_state': nano(), 'config': {'n_head': HEAD}, 'stoi': {'a': 0}, 'itos': {0: 'a'}}, notes=1)
case('unusual-key', {'generator': nano(), 'n_heads': HEAD}, notes=1)
case('bare-hugging', hugging(), 'tanh', 'model.pt', heads=HEAD, notes=1)
case('bare-nano', nano(), 'erf', 'model.pt', heads=HEAD, notes=1)
case('bare-nano-tanh', nano(), 'tanh', 'model.pth', heads=HEAD, gelu='tanh')

# what stands before the names
case('prefix-gpt2', hugging(prefix='gpt2.'), 'tanh', 'model.pt', config=CONFIG)
case('prefix-trl', {**hugging(prefix='pretrained_model.transformer.', head=HEAD_WEIGHT, near='pretrained_model.'),
                    'v_head.summary.weight': torch.ones(1, EMBD), 'v_head.summary.bias': torch.ones(1)},
     'tanh head', 'model.pt', config=CONFIG, unused=['v_head.summary.weight', 'v_head.summary.bias'])
case('prefix-peft', hugging(prefix='base_model.model.transformer.'), 'tanh', 'model.pt', config=CONFIG)
case('prefix-head', {**hugging(prefix='module.transformer.'), 'module.score.weight': torch.ones(3, EMBD)}, 'tanh',
     'model.pt', config=CONFIG, unused=['score.weight'])
case('prefix-fsdp', {k.replace('.attn.', '._fsdp_wrapped_module._checkpoint_wrapped_module.attn.'): v
                     for k, v in hugging(prefix='_fsdp_wrapped_module.transformer.').items()}, 'tanh',
     'model.pt', config=CONFIG)
case('prefix-own-head', hugging(prefix='', head=HEAD_WEIGHT), 'tanh head', 'model.pt', config=CONFIG)

# LLMs-from-scratch
BOOK = dict(vocab_size=VOCAB, context_length=POSITIONS, emb_dim=EMBD, n_heads=HEAD, n_layers=LAYER, drop_rate=.1,
            qkv_bias=True)
case('book', {'model_state_dict': book(), 'optimizer_state_dict': optimizer(book())}, 'tanh',
     'model_and_optimizer.pth', heads=HEAD)
case('book-bare', book(masks=False), 'tanh', 'model.pth', heads=HEAD)
case('book-config', {'model': book(), 'cfg': BOOK}, 'tanh', 'model.pth')
case('book-json', book(), 'tanh', 'model.pth', config=BOOK)
case('book-unbiased', book(qkv_bias=False), 'tanh qkv unbiased', 'model.pth', heads=HEAD)
case('book-head', book(head=HEAD_WEIGHT, prefix='module.'), 'tanh head', 'model.pth', heads=HEAD, legacy=True)

# Megatron
for version in (0, 1.0, 2.0, 3.0):
    case(f'megatron-{version}', {**megatron(version), 'args': arguments()}, 'tanh', 'model_optim_rng.pt')
case('megatron-encoder', {**megatron(3.0, 'encoder', 'self_attention'), 'args': arguments(bias_gelu_fusion=False)},
     'erf', 'model_optim_rng.pt')
case('megatron-alone', megatron(0), 'tanh', 'model_optim_rng.pt', heads=HEAD)

# refused, by name
case('no-heads', nano(), file='model.pt', error='n_head')
case('heads-of-two', {'model': nano(), 'encoder': {'config': {'n_head': 2}}, 'decoder': {'config': {'n_head': 4}}},
     error='n_head')
case('complex-inside', nanogpt({**nano(), 'transformer.h.0.x': torch.zeros(2, dtype=torch.complex64)}),
     error='transformer.h.0.x: a tensor of complex64, want float32, float16, bfloat16 or float64')
case('other-heads', nanogpt(), heads=4, error='n_head: 4, but this checkpoint (nanogpt) says 2 itself')
case('other-sizes', {'model': nano(), 'config': {**ARGS, 'n_layer': 3}},
     error='ckpt.pt: config: n_layer: 3, but the tensors have 2')
case('two-models', {**hugging(prefix='model.'), **hugging(prefix='ref_model.')}, file='model.pt', config=CONFIG,
     error='two models, with model.wte.weight and ref_model.wte.weight, want one')
case('other-architecture', {'model.embed_tokens.weight': torch.ones(2, 2)}, file='pytorch_model.bin',
     config={'model_type': 'llama'}, error='config.json: model_type: "llama", want "gpt2"')
case('one-bias-less', {k: v for k, v in nano().items() if 'ln_f.bias' not in k}, file='model.pt', heads=HEAD,
     error='transformer.ln_f.bias: missing, want shape [8]')
case('two-keys', {'student': nano(), 'teacher': nano()}, heads=HEAD, error='models under student and teacher')
case('optimizer', optimizer(nano()), file='mine.pt', error='the state of an optimizer')
case('training-args', TrainingArguments(), file='mine.bin', error='this is training_args.bin')
case('other-names', {'model': {f'blocks.{i}.weight': torch.ones(2) for i in range(4)}}, config=CONFIG,
     error='ckpt.pt: no embedding of tokens, such as wte.weight: the file has model.blocks.0.weight, '
           'model.blocks.1.weight, model.blocks.2.weight, …')
case('rotary', {'model': nano(), 'config': {**ARGS, 'rotary': True}}, error='ckpt.pt: config: rotary: true, want false')
case('activation', {'model': nano(), 'config': {**ARGS, 'activation': 'hardswish'}}, error='activation_function: "hardswish"')
case('object-inside', nanogpt({**nano(), 'transformer.h.0.x': GPTConfig()}),
     error='transformer.h.0.x: __main__.GPTConfig, which is code and no weights: refused')
case('no-tensor', nanogpt({k: v for k, v in nano().items() if k != 'transformer.ln_f.bias'}),
     error='transformer.ln_f.bias: missing, want shape [8]: ckpt.pt has lm_head.weight')
case('book-unknown', {**book(), 'trf_blocks.0.att.q_norm.scale': torch.ones(4)}, file='model.pth', heads=HEAD,
     error='trf_blocks.0.att.q_norm.scale: unknown tensor in the stack, want the names of LLMs-from-scratch')
case('book-part', {k: v for k, v in book().items() if 'W_key' not in k}, file='model.pth', heads=HEAD,
     error='h.0.attn.c_attn.weight: the rows of k are missing')
case('megatron-rope', {**megatron(3.0), 'args': arguments(normalization='RMSNorm')}, file='model_optim_rng.pt',
     error='args: normalization: "RMSNorm", want "LayerNorm"')

files['manifest.json'] = json.dumps(dict(ids=IDS, logits=expect, cases=cases), indent=1).encode()
with tarfile.open('trainings.tar.gz', 'w:gz') as tar:
    for name, data in files.items():
        info = tarfile.TarInfo(name)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
print(len(cases), 'cases')
