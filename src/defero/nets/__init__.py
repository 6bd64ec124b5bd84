"""Networks that end in class logits and expert logits."""

from defero.nets.deferral_net import DeferralNet
from defero.nets.dense import DenseNet, Logits
from defero.nets.efficientnet_lite import EfficientNetLite
from defero.nets.feature_width import feature_width
from defero.nets.head import DeferralHead
from defero.nets.named import NET_NAMES, net_by_name, trunk_by_name
from defero.nets.resnet import ResNet
from defero.nets.text_cnn import TextCnn
from defero.nets.wide_resnet import WideResNet

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
