from defero.core.law import Law as Law
from defero.learn.calibrator import Calibrator as Calibrator
from defero.learn.law import KnownAnswers as KnownAnswers
from defero.learn.law import fit_law as fit_law
