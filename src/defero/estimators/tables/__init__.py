"""Teams learned from tables: boosted trees and other models of the classes, experts, and the choice by the team."""
