"""Tables in and out: files to `ExpertTable`, raw columns to numbers, decisions to files.

Names are loaded when they are first used: the feature recipe and the fingerprints need numpy alone, and a saved
model that uses them is served without pandas.
"""

from defero._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
