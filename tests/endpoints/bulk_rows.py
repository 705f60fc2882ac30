"""Replies of bulk requests."""


def statuses(reply):
    """Return the statuses of the rows, each of which must have either its resource or an error."""
    assert reply.status == 200, reply
    for index, row in enumerate(reply["data"]):
        [name] = row.keys() - {"index", "status", "error"}
        assert row["index"] == index
        assert (row[name] is None) == (row["status"] > 299) == (row["error"] is not None)
    return [row["status"] for row in reply["data"]]


def params(reply):
    return [row["error"] and row["error"].get("param") for row in reply["data"]]
