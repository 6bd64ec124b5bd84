"""The methods of the field side by side: data sets x methods x splits, one protocol, one page."""
