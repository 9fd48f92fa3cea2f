/**
 * Sorts a table by the column whose heading is clicked; a second click reverses the order. Rows without a value come
 * last.
 */
export const SORT_SCRIPT = `
document.querySelectorAll('th button').forEach(function (button) {
  button.addEventListener('click', function () {
    var th = button.parentNode, row = th.parentNode, body = row.parentNode.parentNode.tBodies[0];
    var at = Array.prototype.indexOf.call(row.children, th);
    var down = th.getAttribute('aria-sort') === 'ascending', number = th.className === 'number';
    var read = function (tr) {
      var td = tr.children[at], text = number ? td.getAttribute('data-v') : td.textContent;
      return text === '' || text === null ? null : number ? Number(text) : text;
    };
    var rows = Array.prototype.map.call(body.rows, function (tr) { return { tr: tr, v: read(tr) }; });
    rows.sort(function (a, b) {
      if (a.v === null || b.v === null) return (a.v === null) - (b.v === null);
      var order = number ? a.v - b.v : a.v.localeCompare(b.v, 'en', { numeric: true });
      return down ? -order : order;
    });
    Array.prototype.forEach.call(row.children, function (other) { other.setAttribute('aria-sort', 'none'); });
    th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    rows.forEach(function (each) { body.appendChild(each.tr); });
  });
});
`;
