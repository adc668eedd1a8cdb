import { Tallystick } from '../../../sdk/client.ts'
import { until } from '../../helpers/wait.ts'
import { startPackageServer } from '../package/deployment.ts'

const RECORDS = 2_000
const BATCH_RECORDS = 200
const CLIENTS = 50

export type FilledLedger = {
  readonly lines: readonly string[]
  readonly kids: readonly string[]
  /** A checkpoint that was stored when the ledger was half as long. */
  readonly checkpoint: string
  readonly proofs: readonly { readonly proof: object; readonly record: object }[]
  readonly verdictSeq: number
  readonly copperSeq: number
}

/** Fills a real server's ledger with most kinds of entries, and returns its export. */
export async function fillLedger(): Promise<FilledLedger> {
  const deployment = await startPackageServer()
  try {
    const env = await deployment.newLedger()
    const connect = (apiKey: string) => new Tallystick({ baseUrl: deployment.url, apiKey })
    const buyer = connect(env['TALLYSTICK_API_KEY']!)
    const gated = await settle(buyer, connect(env['PERFORMER_KEY']!))
    const { records } = await buyer.batches.notarize(
      Array.from({ length: BATCH_RECORDS }, (_, i) => ({
        type: 'generic/1' as const,
        payload: { tool: 'fetch', i },
      })),
    )
    await notarize(buyer, RECORDS / 2)
    const checkpoint = await newestCheckpoint(buyer)
    await notarize(buyer, RECORDS / 2)
    const copper = await buyer.records.notarize({ payload: { tool: 'search', query: 'price of copper' } })
    await erase(buyer, records[0]!.id)
    const { seq: verdictSeq } = gated.gated!.verdict!
    const inBatch = await buyer.records.get(records[1]!.id)
    const proofs = [
      { proof: await buyer.records.proof(gated.id, { seq: verdictSeq }), record: gated },
      { proof: await buyer.records.proof(inBatch.id), record: inBatch },
    ]
    const text = await new Response(await buyer.exports.stream()).text()
    return {
      lines: text.trimEnd().split('\n'),
      kids: (await buyer.keyDocument()).keys.map(({ kid }) => kid),
      checkpoint,
      proofs,
      verdictSeq,
      copperSeq: copper.entry.seq,
    }
  } finally {
    await deployment.close()
  }
}

async function settle(buyer: Tallystick, supplier: Tallystick) {
  const { id } = await buyer.records.create({ payload: { deliver: '100 boxes' } })
  await supplier.records.activate(id)
  await supplier.records.complete(id, { evidence: { delivered: 100 } })
  await buyer.records.until(id, ['VERIFIED'])
  return buyer.records.verdict(id, { verdict: 'accept' })
}

async function notarize(buyer: Tallystick, records: number): Promise<void> {
  let left = records
  const client = async () => {
    while (left-- > 0) await buyer.records.notarize({ payload: { tool: 'search', left } })
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
}

async function newestCheckpoint(buyer: Tallystick): Promise<string> {
  await until(async () => (await buyer.checkpoints.latest()) !== null)
  return (await buyer.checkpoints.latest())!
}

async function erase(buyer: Tallystick, id: string): Promise<void> {
  await buyer.records.erasePayload(id, { code: 'data_subject_request' })
  await until(async () => (await buyer.records.get(id)).payload === null)
}
