"""defero: learn from past cases who should decide the next one, the model, one expert, or a panel.

The public names load what they need when they are first used, so that `import defero` stays light.
"""

from defero._lazy import attach_stub

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
