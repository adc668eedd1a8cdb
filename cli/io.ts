/** Output of a command. */
export type Out = NodeJS.WritableStream & { readonly isTTY?: boolean }

/** Where a command reads and writes: results to stdout, everything else to stderr. */
export type Io = {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stdout: Out
  readonly stderr: Out
}

export const PROCESS_IO: Io = process

/** Waits if the reader is slower: a long answer must not pile up in memory. */
export async function write(out: Out, text: string): Promise<void> {
  if (out.write(text)) return
  await new Promise<void>((resolve) => out.once('drain', resolve))
}
