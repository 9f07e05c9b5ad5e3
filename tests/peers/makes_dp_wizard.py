"""The reports of DP Wizard on a made-up table: dp_wizard_grouped.csv and dp_wizard.csv, as the app offers them.

`make peers` runs this where DP Wizard is installed and this package is not; tests/peers/reads.py reads the files
elsewhere. The app makes a notebook and runs it; here the same notebook's code runs without Jupyter.
"""

import json
import os
from pathlib import Path

os.environ |= {"HOME": str(Path.cwd()), "MPLBACKEND": "Agg"}  # it keeps its reports in the home folder

import polars as pl  # noqa: E402
from dp_wizard import config_root  # noqa: E402
from dp_wizard.types import Product  # noqa: E402
from dp_wizard.utils.code_generators import AnalysisPlan, AnalysisPlanColumn  # noqa: E402
from dp_wizard.utils.code_generators.notebook_generator import NotebookGenerator  # noqa: E402

GROUPS = [f"g{k}" for k in range(100)]
# 80 people in each group, 20 of them in each of four bins.
people = pl.DataFrame({"region": GROUPS * 80, "hours": [hours for hours in (1.0, 3.0, 5.0, 7.0) for _ in range(2000)]})
people.write_csv("people.csv")
scales = {}
for name, groups in (("dp_wizard_grouped", {"region": GROUPS}), ("dp_wizard", {})):
    plan = AnalysisPlan(
        product=Product.STATISTICS, path=str(Path("people.csv").resolve()), contributions=1,
        contributions_entity="Person", epsilon=1 / 3, max_rows=100_000, groups=groups,
        analysis_columns={"hours": [AnalysisPlanColumn("Histogram", 0, 8, 4, 2)]}, schema_columns=dict(people.schema))
    made = {"__name__": "notebook"}
    exec(NotebookGenerator(plan, "made-up people").make_py(), made)
    Path(f"{name}.csv").write_bytes((config_root / "report.csv").read_bytes())
    scales[name] = made["summary"].select("distribution", "scale").to_dicts()
Path("dp_wizard.json").write_text(json.dumps(scales), encoding="utf-8")
