"""Networks that end in class logits and expert logits."""

from defero.nets.deferral_net import DeferralHead, DeferralNet, feature_width
from defero.nets.dense import DenseNet, Logits
from defero.nets.efficientnet_lite import EfficientNetLite
from defero.nets.named import NET_NAMES, net_by_name, trunk_by_name
from defero.nets.resnet import ResNet, WideResNet
from defero.nets.text_cnn import TextCnn

__all__ = [
    "NET_NAMES",
    "DeferralHead",
    "DeferralNet",
    "DenseNet",
    "EfficientNetLite",
    "Logits",
    "ResNet",
    "TextCnn",
    "WideResNet",
    "feature_width",
    "net_by_name",
    "trunk_by_name",
]
