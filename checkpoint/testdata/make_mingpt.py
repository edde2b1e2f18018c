"""Makes mingpt and mingpt-unbiased of the files in formats: python3 make_mingpt.py

minGPT saves the bare state dict; the tensors are those of nanoGPT's file.
"""
import json
import torch

for source, name, layers in (('nanogpt', 'mingpt', 2), ('nanogpt-compiled-nobias', 'mingpt-unbiased', 1)):
    state = torch.load(f'formats/{source}/ckpt.pt', map_location='cpu')['model']
    torch.save({k.removeprefix('_orig_mod.'): v for k, v in state.items()}, f'{name}/model.pt')
    config = {'vocab_size': 64, 'n_positions': 32, 'n_embd': 32, 'n_layer': layers, 'n_head': 4}
    if name == 'mingpt-unbiased':
        config['activation_function'] = 'gelu'  # as in its source, so that the logits are the same
    with open(f'{name}/config.json', 'w') as f:
        json.dump(config, f)
