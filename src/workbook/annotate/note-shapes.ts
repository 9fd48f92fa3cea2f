import { columnNumber } from '../sheet/addresses';
import { elements } from '../ooxml/xml-edit';

/** The boxes that show notes are in a separate drawing, in a format older than the rest of the file. */
export const NO_SHAPES =
  '<xml xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:x="urn:schemas-microsoft-com:office:excel"><o:shapelayout v:ext="edit"><o:idmap v:ext="edit" data="1"/></o:shapelayout></xml>';

const SHAPE_TYPE =
  '<v:shapetype id="_x0000_t202" coordsize="21600,21600" o:spt="202" path="m,l,21600r21600,l21600,xe"><v:stroke joinstyle="miter"/><v:path gradientshapeok="t" o:connecttype="rect"/></v:shapetype>';

const FIRST_ID = 1025;

/** Removes the boxes of notes and adds new ones; everything else in the drawing is kept. */
export function editShapes(drawing: string, removed: readonly string[], added: readonly string[]): string {
  const vml = drawing.includes('</xml>') ? drawing : NO_SHAPES;
  const gone = new Set(removed.map((address) => placeOf(address).join()));
  const parts: string[] = [];
  let copied = 0;
  for (const { start, end, content } of gone.size === 0 ? [] : elements(vml, 'v:shape')) {
    if (!/ObjectType="Note"/.test(content) || !gone.has(placeIn(content))) continue;
    parts.push(vml.slice(copied, start));
    copied = end;
  }
  const kept = parts.join('') + vml.slice(copied);
  if (added.length === 0) return kept;
  let id = FIRST_ID;
  for (const [, used] of kept.matchAll(/"_x0000_s(\d{1,9})"/g)) id = Math.max(id, Number(used) + 1);
  const shapes = added.map((address, index) => shape(address, id + index)).join('');
  const type = kept.includes('id="_x0000_t202"') ? '' : SHAPE_TYPE;
  const end = kept.lastIndexOf('</xml>');
  return kept.slice(0, end) + type + shapes + kept.slice(end);
}

/** Row and column from 0. */
function placeOf(address: string): [number, number] {
  const [, letters = '', row] = /^([A-Z]+)(\d+)$/.exec(address) ?? [];
  return [Number(row) - 1, columnNumber(letters) - 1];
}

function placeIn(content: string): string {
  const value = (name: string) => Number(new RegExp(`<x:${name}>\\s*(\\d+)\\s*</x:${name}>`).exec(content)?.[1]);
  return [value('Row'), value('Column')].join();
}

function shape(address: string, id: number): string {
  const [row, column] = placeOf(address);
  const anchor = [column + 1, 15, row, 2, column + 5, 15, row + 6, 4].join(', ');
  return `<v:shape id="_x0000_s${id}" type="#_x0000_t202" style="position:absolute;margin-left:60pt;margin-top:2pt;width:240pt;height:90pt;z-index:1;visibility:hidden" fillcolor="#ffffe1" o:insetmode="auto"><v:fill color2="#ffffe1"/><v:shadow on="t" color="black" obscured="t"/><v:path o:connecttype="none"/><v:textbox style="mso-direction-alt:auto"><div style="text-align:left"></div></v:textbox><x:ClientData ObjectType="Note"><x:MoveWithCells/><x:SizeWithCells/><x:Anchor>${anchor}</x:Anchor><x:AutoFill>False</x:AutoFill><x:Row>${row}</x:Row><x:Column>${column}</x:Column></x:ClientData></v:shape>`;
}
