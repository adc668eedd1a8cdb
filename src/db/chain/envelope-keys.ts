import type { Db } from '../connect/client.ts'

type PublishedKey = {
  readonly kid: string
  readonly use: 'envelope'
  readonly alg: string
  readonly spki: string
  readonly activatedAt: string
  readonly retiredAt: string | null
  readonly compromisedAt: string | null
}

/** Returns the keys that sign envelopes, oldest first. The keys document contains them (docs/formats/export.md). */
export async function listEnvelopeKeys(db: Db): Promise<PublishedKey[]> {
  const { rows } = await db.query<{
    kid: Buffer
    alg: string
    spki: Buffer
    activatedAt: Date
    retiredAt: Date | null
    compromisedAt: Date | null
  }>(`select kid, alg, spki, activated_at, retired_at, compromised_at from tallystick.server_keys
      where use = 'envelope' order by activated_at, kid`)
  return rows.map((row) => ({
    kid: row.kid.toString('hex'),
    use: 'envelope',
    alg: row.alg,
    spki: row.spki.toString('base64'),
    activatedAt: row.activatedAt.toISOString(),
    retiredAt: row.retiredAt?.toISOString() ?? null,
    compromisedAt: row.compromisedAt?.toISOString() ?? null,
  }))
}
