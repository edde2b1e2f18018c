"""Makes the files of this folder with PyTorch: python3 make.py

Each holds the same dict of tensors, or one that cannot be read. The values are counted, so that
the test knows them.
"""
import collections
import torch

def tensors():
    count = torch.arange(24, dtype=torch.float32)
    two = count.reshape(4, 6)
    d = collections.OrderedDict()
    d['f32'] = two.clone()
    d['transposed'] = two.clone().t()
    d['column'] = two[:, 1]
    d['block'] = two[1:3, 2:5]
    d['permuted'] = count.reshape(2, 3, 4).permute(2, 0, 1)
    d['again'] = d['f32']
    d['expanded'] = torch.tensor([7.]).expand(3, 2)
    d['scalar'] = torch.tensor(5.)
    d['empty'] = torch.zeros(0, 3)
    d['f16'] = two.half()
    d['bf16'] = two.bfloat16()
    d['f64'] = two.double()
    d['u8'] = two.byte()
    d['i8'] = two.char()
    d['i16'] = two.short()
    d['i32'] = two.int()
    d['i64'] = two.long()
    d['bool'] = two > 3
    d['parameter'] = torch.nn.Parameter(two.clone())
    d['odd'] = torch.arange(3, dtype=torch.uint8)  # what follows in the old form is not aligned
    d['after'] = two.clone() + 100
    return d

for protocol in (2, 3, 4, 5):
    torch.save(tensors(), f'zip{protocol}.pt', pickle_protocol=protocol)
    torch.save(tensors(), f'legacy{protocol}.pt', pickle_protocol=protocol,
               _use_new_zipfile_serialization=False)
module = torch.nn.Linear(2, 2)
torch.save(module, 'module.pt')
state = module.state_dict()  # with _metadata
torch.save({'state': state, 'numbers': [1, 2.5, None, True], 'size': torch.Size([2, 3])}, 'nested.pt')
torch.jit.script(module).save('script.pt')
