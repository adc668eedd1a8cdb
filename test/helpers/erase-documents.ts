import type pg from 'pg'

/**
 * A rewritten chunk for `erase_documents`: its position, the SHA-256 of its previous content, the new content, and the
 * keys that no longer apply.
 */
export type RewrittenChunk = {
  readonly seq: number
  readonly chunk: number
  readonly before: Uint8Array
  readonly after: Uint8Array
  readonly keysGone: readonly Uint8Array[]
}

/** Carries out the erasures whose entries have the seqs `ats`. Returns the number of erased documents that existed. */
export async function eraseInDatabase(
  worker: Pick<pg.ClientBase, 'query'>,
  ledgerId: string,
  ats: readonly number[],
  chunks: readonly RewrittenChunk[] = [],
): Promise<number> {
  const gone = chunks.flatMap(({ keysGone }, i) => keysGone.map((key) => ({ n: i + 1, key })))
  const { rows } = await worker.query(
    `select tallystick.erase_documents($1, $2::int8[], $3::int8[], $4::int4[], $5::bytea[], $6::bytea[], $7::int4[], $8::bytea[]) as erased`,
    [
      ledgerId,
      ats,
      chunks.map(({ seq }) => seq),
      chunks.map(({ chunk }) => chunk),
      chunks.map(({ before }) => before),
      chunks.map(({ after }) => after),
      gone.map(({ n }) => n),
      gone.map(({ key }) => key),
    ],
  )
  return rows[0].erased
}
