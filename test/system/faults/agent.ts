/*
 * An agent with a spool, which tests kill. It records in a loop without pauses.
 *
 * Usage: agent.ts URL API_KEY SPOOL JOURNAL LIFE
 *
 * After each return of `record` the agent writes a character into its journal. So the journal's length is the number of
 * promised records. On SIGTERM the agent starts no new record, and ends when everything is in the ledger.
 */
import { openSync, writeSync } from 'node:fs'
import { Tallystick } from '../../../sdk/index.ts'
import { openSpool } from '../../../sdk/node/spool.ts'

const [baseUrl, apiKey, directory, journalPath, life] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
]
/**
 * Maximum size of the spool in bytes. The small limit slows the loop down, because the spool has room for about a
 * second's work.
 */
const SPOOL_BYTES_MAX = 1024 * 1024
const FILLER = 'a purchase order was created and confirmed by the supplier; '.repeat(4)

const journal = openSync(journalPath, 'a', 0o600)
const ledger = new Tallystick({ baseUrl, apiKey }).notarizer({
  spool: await openSpool(directory, { bytesMax: SPOOL_BYTES_MAX }),
  recordsPerBatchMax: 200,
  lingerMs: 2,
  delayMsMax: 200,
  timeoutMs: 10_000,
  onRefused: endBecauseOf,
  onError(error) {
    if (!error.retryable) endBecauseOf(null, error)
  },
})

function endBecauseOf(_record: unknown, error: Error): never {
  console.error(error)
  process.exit(1)
}

let ending = false
process.on('SIGTERM', () => {
  ending = true
})
for (let i = 0; !ending; i++) {
  await ledger.ready
  ledger.record({ life: Number(life), i, filler: FILLER })
  writeSync(journal, '.')
}
await ledger.close({ timeoutMs: 30_000 })
