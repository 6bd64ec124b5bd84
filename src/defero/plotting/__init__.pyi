from defero.plotting.agreement import AgreementDisplay as AgreementDisplay
from defero.plotting.curves import DeferralCurveDisplay as DeferralCurveDisplay
from defero.plotting.curves import PoolFrontierDisplay as PoolFrontierDisplay
from defero.plotting.experts import ExpertLoadDisplay as ExpertLoadDisplay
from defero.plotting.reliability import ReliabilityDisplay as ReliabilityDisplay
from defero.plotting.set_size import SetSizeDisplay as SetSizeDisplay
from defero.plotting.style import drawing as drawing
from defero.plotting.style import dress as dress
