"""JSON files that are one object, not rows: what wrote them, and the call that reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from f3ast_tff.analysis.compare.table_directions import is_measure
from f3ast_tff.analysis.compare.table_roles import NAMES
from f3ast_tff.analysis.compare.table_shapes import ONE_RUN

# The likeliest first; of Flower's results and history, and of HF's trainer_state.json.
_LISTS = ("centralized_evaluate", "federated_evaluate", "log_history")
_HISTORIES = ("metrics_centralized", "metrics_distributed")


def how_to_read(found: Mapping[str, Any], file: str) -> str:
    """Returns what an object may be, with a call of pandas; `""` if nothing tells.

    Args:
        found: The object.
        file: The file's name, for the call.

    Examples:
        >>> from f3ast_tff.analysis.compare.table_objects import how_to_read
        >>> how_to_read({"columns": ["method"], "index": [0], "data": [["a"]]}, "a.json")
        "pandas' table: pd.read_json('a.json', orient='split')"
    """
    loaded = f"json.loads(Path({file!r}).read_text())"
    for said in (_of_tool(found, loaded, file), _of_pandas(found, file), _of_dicts(found, loaded)):
        if said:
            return said
    return ""


def _of_tool(found: Mapping[str, Any], loaded: str, file: str) -> str:
    """Flower, Sacred, Hugging Face, and any list of rows within an object."""
    for key in _HISTORIES:
        if isinstance(found.get(key), Mapping):
            names = [n for n, v in found[key].items() if _is_list_of(v, list)]
            if names:
                part = f"{loaded}[{key!r}][{names[0]!r}], columns=['round', {names[0]!r}]"
                return f"Flower's history of one run: pd.DataFrame({part}){ONE_RUN}"
    lists = [key for key, value in found.items() if _is_list_of(value, dict)]
    if lists:
        key = next((key for key in _LISTS if key in lists), lists[0])
        call = f"pd.DataFrame({loaded}[{key!r}])"
        has_method = any(name in NAMES["method"].split(" ") for name in found[key][0])
        return f"rows in {key}: {call}{'' if has_method else ONE_RUN}"
    for key, value in found.items():
        if isinstance(value, Mapping) and {"steps", "values"} <= value.keys():
            columns = f"[['steps', 'values']].set_axis(['round', {key!r}], axis=1)"
            call = f"pd.DataFrame({loaded}[{key!r}]){columns}"
            return f"Sacred's metrics of one run: {call}{ONE_RUN}"
    if "experiment" in found and "result" in found:
        config = "json.loads((p.parent / 'config.json').read_text())"
        row = f"{{**{config}, 'score': json.loads(p.read_text())['result']}}"
        folder = f"Path('runs').glob('*/{file.rpartition('/')[2]}')"
        return f"Sacred's record of one run: pd.DataFrame([{row} for p in {folder}])"
    return ""


def _of_pandas(found: Mapping[str, Any], file: str) -> str:
    """What `DataFrame.to_json` writes by default, and by `orient="split"` and `"index"`."""
    if isinstance(found.get("columns"), list) and isinstance(found.get("data"), list):
        return f"pandas' table: pd.read_json({file!r}, orient='split')"
    known = {name for role in ("method", "seed") for name in NAMES[role].split(" ")}
    columns = {str(key).lower() for key, value in found.items() if isinstance(value, Mapping)}
    rows = {str(key).lower() for row in found.values() if isinstance(row, Mapping) for key in row}
    orient = "" if columns & known else ", orient='index'"
    return f"pandas' table: pd.read_json({file!r}{orient})" if (columns | rows) & known else ""


def _of_dicts(found: Mapping[str, Any], loaded: str) -> str:
    """Scores by method, by method and seed, by method and measure, or by round."""
    values = list(found.values())
    if values and all(_is_list_of(value, (int, float)) for value in values):
        if any(is_measure(key) for key in found):
            rounds = f"pd.DataFrame({loaded}).rename_axis('round').reset_index()"
            return f"lists of one run: {rounds}{ONE_RUN}"
        call = f"pd.Series({loaded}).explode().rename_axis('method').reset_index(name='value')"
        return f"if a list holds the runs of a method: {call}"
    if not values or not all(isinstance(value, Mapping) and value for value in values):
        scalars = values and not any(isinstance(value, (Mapping, list)) for value in values)
        call = "pd.DataFrame([json.loads(p.read_text()) for p in Path('runs').glob('*/*.json')])"
        return f"if it is one run's: {call}" if scalars else ""
    inner = [key for value in values for key in value]
    of_lists = all(_is_list_of(v, (int, float)) for value in values for v in value.values())
    of_scalars = not any(isinstance(v, (Mapping, list)) for each in values for v in each.values())
    outer = "round" if all(str(key).isdigit() for key in found) else "method"
    if any(is_measure(key) for key in inner):
        if of_lists:
            frames = f"{{m: pd.DataFrame(v) for m, v in {loaded}.items()}}"
            names = f"names=[{outer!r}, 'round']"
            return f"curves by {outer}: pd.concat({frames}, {names}).reset_index()"
        call = f"pd.DataFrame.from_dict({loaded}, orient='index').rename_axis({outer!r})"
        call += ".reset_index()" + (ONE_RUN if outer == "round" else "")
        return f"scores by {outer}: {call}" if of_scalars else ""
    by = f"for m, v in {loaded}.items() for s, x in v.items()"
    if of_lists:
        series = f"pd.concat({{(m, s): pd.Series(x) {by}}}, names=['method', 'seed', 'round'])"
        return f"if lists are curves by method and seed: {series}.reset_index(name='value')"
    if of_scalars:
        rows = f"pd.DataFrame([(m, s, x) {by}], columns=['method', 'seed', 'value'])"
        return f"if by method and seed: {rows}"
    return ""


def _is_list_of(value: Any, kind: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, kind) for each in value)
