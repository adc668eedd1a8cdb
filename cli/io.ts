export type Out = NodeJS.WritableStream & { readonly isTTY?: boolean }

/** Streams of a command. Results go to stdout, everything else to stderr. */
export type Io = {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stdout: Out
  readonly stderr: Out
}

export const PROCESS_IO: Io = process

/** Writes a text. Waits for a slow reader, so that a long answer does not fill the memory. */
export async function write(out: Out, text: string): Promise<void> {
  if (out.write(text)) return
  await new Promise<void>((resolve) => out.once('drain', resolve))
}
