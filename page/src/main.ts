// The page's entry: unpacks the data that lies in the file (docs/page-data.md) and shows what there is.

interface Packed {
  header: { tables: Record<string, { rows: number }> };
  sections: Uint8Array;
}

async function unpack(element: Element): Promise<Packed> {
  const packed = Uint8Array.from(atob(element.textContent ?? ""), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const headerBytes = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headerBytes)));
  return { header, sections: bytes.subarray(4 + headerBytes) };
}

async function show(): Promise<void> {
  const page = document.getElementById("page");
  for (const element of document.querySelectorAll("script[data-lamella=recording]")) {
    const data = await unpack(element);
    const list = document.createElement("ul");
    for (const [name, table] of Object.entries(data.header.tables)) {
      const item = document.createElement("li");
      item.textContent = `${name}: ${table.rows}`;
      list.append(item);
    }
    page?.append(list);
  }
}

void show();
