"""SQLAlchemy's reflection, and pandas reading what BI people plot."""
import os

import pandas
import sqlalchemy

env = os.environ
url = sqlalchemy.engine.URL.create(
    "mysql+pymysql", env["HW_USER"], env["HW_PASSWORD"], "127.0.0.1",
    int(env["HW_PORT"]), "heapwire", query={"charset": "utf8mb4"})
engine = sqlalchemy.create_engine(url, pool_pre_ping=True)
inspector = sqlalchemy.inspect(engine)
assert "heapwire" in inspector.get_schema_names()
assert "nodes" in inspector.get_table_names(), inspector.get_table_names()
for table in inspector.get_table_names() + inspector.get_view_names():
    columns = inspector.get_columns(table)
    assert columns, table
    inspector.get_pk_constraint(table)
    inspector.get_indexes(table)
    inspector.get_foreign_keys(table)
assert inspector.has_table("nodes") and not inspector.has_table("nothing")
types = {c["name"]: type(c["type"]).__name__ for c in inspector.get_columns("nodes")}
assert types["id"] == "BIGINT", types

metadata = sqlalchemy.MetaData()
nodes = sqlalchemy.Table("nodes", metadata, autoload_with=engine)
with engine.connect() as connection:
    row = connection.execute(
        sqlalchemy.select(nodes.c.id).where(nodes.c.id == 10001)).one()
    assert row.id == 10001
    query = sqlalchemy.text("SELECT function, flat_bytes, cum_bytes FROM "
                            "heap_functions ORDER BY cum_bytes DESC LIMIT 5")
    result = connection.execute(query)
    frame = pandas.DataFrame(result.fetchall(), columns=list(result.keys()))
assert len(frame) == 5 and frame["cum_bytes"].is_monotonic_decreasing, frame
assert frame["flat_bytes"].dtype.kind in "if", frame.dtypes
print("sqlalchemy ok")
