"""What an attacker would try; `.ci/run` runs these as a suite of their own."""
