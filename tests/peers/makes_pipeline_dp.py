"""Aggregates of PipelineDP on a made-up table, with its standard deviations of the noise: pipeline_dp_*.csv.

`make peers` runs this where PipelineDP is installed and this package is not; tests/peers/reads.py reads the files
elsewhere.
"""

import csv

import pipeline_dp

GROUPS = [f"g{k}" for k in range(400)]
# 20 people in each group; 6 of them smoke.
people = [(f"{group} {k}", group, int(k < 6)) for group in GROUPS for k in range(20)]
extractors = pipeline_dp.DataExtractors(privacy_id_extractor=lambda row: row[0],
                                        partition_extractor=lambda row: row[1], value_extractor=lambda row: row[2])
for noise in pipeline_dp.NoiseKind.LAPLACE, pipeline_dp.NoiseKind.GAUSSIAN:
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=2 / 3, total_delta=1e-6)
    params = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM], noise_kind=noise, max_partitions_contributed=1,
        max_contributions_per_partition=1, min_value=0, max_value=1, output_noise_stddev=True)
    result = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend()).aggregate(
        people, params, extractors, public_partitions=GROUPS)
    accountant.compute_budgets()
    rows = [{"region": group, **metrics._asdict()} for group, metrics in result]
    with open(f"pipeline_dp_{noise.name.lower()}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(rows)
