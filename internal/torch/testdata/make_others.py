"""Makes others-*.pt with PyTorch 2.15: tensors of kinds that are not read, and two that are."""
import torch


class Mine(torch.Tensor):
    """A class of tensors that a training may have."""


two = torch.arange(24, dtype=torch.float32).reshape(4, 6)
d = {name: two.to(getattr(torch, name)) for name in (
    'float8_e4m3fn', 'float8_e5m2', 'float8_e4m3fnuz', 'float8_e5m2fnuz', 'complex32', 'complex64',
    'complex128', 'uint16', 'uint32', 'uint64')}
d['conjugate'] = d['complex64'].conj()
d['parameter'] = torch.nn.Parameter(two.to(torch.float8_e4m3fn), requires_grad=False)
d['sparse_coo'], d['sparse_csr'] = two.to_sparse(), two.to_sparse_csr()
d['qint8'] = torch.quantize_per_tensor(two, .1, 0, torch.qint8)
d['meta'] = two.to('meta')
d['subclass'] = (two + 1).as_subclass(Mine)
d['jagged'] = torch.nested.nested_tensor([two, two[:3]], layout=torch.jagged)
d['untyped'] = two.untyped_storage()
d['numpy'] = two.numpy()
d['tagged'] = torch.nn.Parameter(two.clone())
d['tagged'].tag = 'x'
d['f32'] = two + 100
torch.save(d, 'others-zip.pt')
torch.save(d, 'others-legacy.pt', _use_new_zipfile_serialization=False)
