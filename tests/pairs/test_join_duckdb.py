"""`bp.join` of relations of DuckDB: nothing is looked up in the database of the user, and types stay as they are."""

import pytest

import broadphase as bp

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
ENDS = {"lower": "lo", "upper": "hi"}
#: What join calls its own variables, and what it has called a table or a view.
NAMES = [
    "joined",
    "left",
    "right",
    "left_of_join",
    "relation",
    "table",
    "columns",
    "made",
    "values",
    "sql",
    "view",
    "name",
]
is_old = tuple(map(int, duckdb.__version__.split(".")[:2])) < (2, 0)


def relations(connection):
    return connection.sql("SELECT 0 lo, 5 hi, 'a' n"), connection.sql("SELECT 3 lo, 9 hi, 'b' m")


@pytest.mark.parametrize("kind", ["TABLE", "VIEW", "TEMP TABLE", "TEMP VIEW"])
def test_tables_and_views_of_the_user_are_neither_read_nor_changed(kind):
    with duckdb.connect() as connection:
        for name in NAMES:
            connection.execute(f'CREATE {kind} "{name}" AS SELECT 42 AS x')
        left, right = relations(connection)
        before = connection.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
        joined = bp.join(left, right, **ENDS)
        assert joined.fetchall() == [(0, 5, "a", 3, 9, "b")]
        assert bp.join(left, right, **ENDS, count=True).fetchall() == [(0, 5, "a", 1)]
        assert connection.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall() == before
        for name in NAMES:
            assert connection.execute(f'SELECT * FROM "{name}"').fetchall() == [(42,)], name


def test_a_result_is_of_the_connection_and_stays_usable():
    with duckdb.connect() as connection, duckdb.connect() as other:
        left, right = relations(connection)
        joined = bp.join(left, right, **ENDS)
        del left
        connection.execute("CREATE TABLE joined AS SELECT 42 AS x")
        joined.create("kept")
        assert connection.execute("SELECT n, m FROM kept").fetchall() == [("a", "b")]
        assert joined.project("m").fetchall() == [("b",)]
        # Of several connections, the result is of that of left.
        mixed = bp.join(relations(other)[0], right, **ENDS)
        mixed.create("mixed")
        assert other.execute("SELECT count(*) FROM mixed").fetchall() == [(1,)]
        cursor = connection.cursor()
        assert bp.join(*relations(cursor), **ENDS).fetchall() == [(0, 5, "a", 3, 9, "b")]


def test_a_closed_connection_is_an_error_that_says_so():
    connection = duckdb.connect()
    left, right = relations(connection.cursor())
    joined = bp.join(left, right, **ENDS)
    closed = duckdb.connect()
    gone = relations(closed)
    closed.close()
    with pytest.raises(duckdb.ConnectionException, match="closed"):
        bp.join(*gone, **ENDS)
    assert joined.fetchall() == [(0, 5, "a", 3, 9, "b")]
    connection.close()


@pytest.mark.skipif(is_old, reason="before DuckDB 2.0, only SQL leads from a relation to its connection")
def test_databases_without_replacements_and_read_only_ones_can_be_joined(tmp_path):
    with duckdb.connect(config={"python_enable_replacements": False}) as connection:
        assert bp.join(*relations(connection), **ENDS).fetchall() == [(0, 5, "a", 3, 9, "b")]
    path = str(tmp_path / "boxes.db")
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE boxes AS SELECT range lo, range + 1 hi FROM range(3)")
    with duckdb.connect(path, read_only=True) as connection:
        assert bp.join(connection.table("boxes"), **ENDS).fetchall() == [(0, 1, 1, 2), (1, 2, 2, 3)]


def test_where_only_sql_leads_to_the_connection_names_are_of_nobody():
    from broadphase.tables import libraries as tables

    class Relation:  # as of DuckDB before 2.0
        def __init__(self, relation):
            self._relation = relation

        def __getattr__(self, name):
            if name == "_con":
                raise AttributeError(name)
            return getattr(self._relation, name)

    with duckdb.connect() as connection:
        left, _ = relations(connection)
        own = tables._DuckDB(Relation(left), "left")
        made = own.table(own.rows(own.names, None, False), True)
        assert made.fetchall() == [(0, 5, "a")]
        assert connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]
        connection.execute("SET python_enable_replacements = false")
        with pytest.raises(ValueError, match=r"before DuckDB 2.0, .* pass left.fetch_arrow_table\(\)"):
            own.table(own.rows(own.names, None, False), True)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("HUGEINT", "170141183460469231731687303715884105727"), ("UHUGEINT", "5"), ("UUID", "uuid()"), ("BIT", "'101'"),
        ("ENUM('a', 'b')", "'b'"), ("JSON", "'{\"a\": 1}'"), ("TIME WITH TIME ZONE", "'01:00:00+01'"),
        ("UUID[]", "[uuid()]"), ("STRUCT(e ENUM('a', 'b'))", "{'e': 'a'}"), ("INTERVAL", "INTERVAL 1 MONTH"),
        ("DECIMAL(9,2)", "1.25"), ("TIMESTAMP WITH TIME ZONE", "'2026-01-01'"), ("BLOB", "'a'::BLOB"),
    ],
)  # fmt: skip
def test_columns_keep_their_types_and_values(kind, value):
    with duckdb.connect() as connection:
        connection.execute(f'CREATE TABLE t AS SELECT 0 lo, 5 hi, CAST({value} AS {kind}) AS "odd ""name"""')
        table = connection.table("t")
        joined = bp.join(table, table, **ENDS, keep=['odd "name"'], suffixes=("_1", "_2"))
        assert list(map(str, joined.types)) == [str(table.types[2])] * 2
        assert joined.columns == ['odd "name"_1', 'odd "name"_2']
        assert joined.fetchall() == [(table.fetchall()[0][2],) * 2]


def test_types_without_an_order_in_arrow_are_refused_by_name():
    with duckdb.connect() as connection:
        table = connection.sql("SELECT CAST('01:00:00+01' AS TIMETZ) AS lo, 1.5 AS hi, [1] AS k")
        with pytest.raises(TypeError, match=r"left, column 'lo' has the type TIME WITH TIME ZONE, and corners are"):
            bp.join(table, table, lower="lo", upper="lo")
        with pytest.raises(TypeError, match=r"left, column 'hi' has the type DECIMAL\(2,1\), and corners are"):
            bp.join(table, table, lower="hi", upper="hi")
        with pytest.raises(TypeError, match=r"left, column 'k' has the type INTEGER\[\], and keys are"):
            bp.join(connection.sql("SELECT 0 AS lo, [1] AS k"), lower="lo", upper="lo", by="k")
        sums = connection.sql("SELECT sum(range) AS lo, sum(range) + 1 AS hi FROM range(3)")  # HUGEINT
        assert bp.join(sums, sums, **ENDS).fetchall() == [(3, 4, 3, 4)]


def test_names_that_differ_in_capitals_are_one_name():
    with duckdb.connect() as connection:
        left = connection.sql("SELECT 0 lo, 5 hi, 1 x")
        right = connection.sql("SELECT 3 LO, 9 HI, 2 X")
        options = {"lower": ("lo", "LO"), "upper": ("hi", "HI")}
        joined = bp.join(left, right, **options)
        assert joined.columns == ["lo", "hi", "x", "LO_right", "HI_right", "X_right"]
        for query in ("SELECT 0 lo, 5 hi, '1'::BIT x, '0'::BIT x", "SELECT 0 lo, 5 hi, 1 x, 2 X"):
            with pytest.raises(ValueError, match="left has several columns of one name: x"):
                bp.join(connection.sql(query), **ENDS)
        with pytest.raises(ValueError, match="the result has several columns of one name: x, X; see suffixes"):
            bp.join(left, right, **options, keep=["x", "X"], suffixes=("", ""))
