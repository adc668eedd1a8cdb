import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { findAudit, requestAudit } from '../../../src/db/audit/audits.ts'
import { runAudit } from '../../../src/followers/audit/run-audit.ts'
import { publishCheckpoints } from '../../../src/followers/checkpoints/publish.ts'
import { fromHex, toHex } from '../../../src/proof/bytes.ts'
import { parseId, parseIdBytes } from '../../../src/proof/ids.ts'
import { genesis, link } from '../../../src/proof/tree/chain.ts'
import { auditOf, openFaults } from '../../followers/audit/set-up.ts'
import { buildTestApp, genericBody } from '../../helpers/app.ts'
import { runAlone } from '../../helpers/run-command.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { makeChain, sha256, type TestChain, type TestLine } from '../../helpers/test-chain.ts'

/*
 * An attacker has an export or the database, but no key. A statement does not contain its seq, and anybody can
 * compute the chain hash. So the attacker puts an older checkpoint at the end, removes or swaps entries behind that
 * checkpoint, and chains them again.
 */

const MINUTE_MS = 60_000

/**
 * Makes a ledger of thirteen entries over a quarter. A reader who stored the checkpoint of six entries checks the
 * ledger at the end of the quarter.
 */
function makeQuarter(): TestChain {
  const chain = makeChain()
  for (let i = 0; i < 3; i++) chain.notarize()
  chain.pass(10 * MINUTE_MS)
  for (let i = 0; i < 4; i++) chain.notarize()
  chain.pass(10 * MINUTE_MS)
  for (let i = 0; i < 3; i++) chain.notarize()
  return chain
}

function chainAnew(chain: TestChain, entries: readonly TestLine[]): TestLine[] {
  let head = genesis(sha256, parseIdBytes('led', chain.ledger))
  return entries.map((line, seq) => {
    head = link(sha256, head, fromHex(line.leaf))
    return { ...line, seq, chain: toHex(head) }
  })
}

function exportOf(chain: TestChain, entries: readonly TestLine[], note: string | null): string {
  const [first] = chain.exportLines()
  const lines = [first!, ...entries.map((line) => JSON.stringify(line)), JSON.stringify({ checkpoint: note })]
  return `${lines.join('\n')}\n`
}

const removed = (lines: readonly TestLine[]) => lines.filter((_, seq) => seq !== 8)
const exchanged = (lines: readonly TestLine[]) => [
  ...lines.slice(0, 7),
  lines[8]!,
  lines[7]!,
  ...lines.slice(9),
]

test('a tail thinned behind a kept checkpoint fails with checkpoint_missing_tail, also without --strict', async (t) => {
  const chain = makeQuarter()
  const files = temporaryFiles(t)
  const kept = files.write('kept.note', chain.checkpoint(6))
  const given = ['--key', chain.firstSigner.kidHex, '--checkpoint', kept]
  for (const [name, thin] of Object.entries({ removed, exchanged })) {
    const entries = chainAnew(chain, thin(chain.lines))
    for (const note of [chain.checkpoint(6), null]) {
      const path = files.write(`${name}.ndjson`, exportOf(chain, entries, note))
      for (const options of [given, [...given, '--strict']]) {
        const { code, stdout } = await runAlone(['verify', path, ...options])
        assert.equal(code, 1, stdout)
        assert.match(stdout, /^INTEGRITY_FAILED code=checkpoint_missing_tail reason="seq 6 was recorded at /)
        assert.match(stdout, /the newest checkpoint covers 6 entries/)
      }
    }
  }
})

test('an entry of the last minute can be removed unnoticed', async (t) => {
  const chain = makeQuarter()
  const files = temporaryFiles(t)
  // This is the most that an attacker can do: use the checkpoint before the last burst, and remove one entry of the
  // burst.
  const young = chainAnew(
    chain,
    chain.lines.filter((_, seq) => seq !== 11),
  )
  const path = files.write('young.ndjson', exportOf(chain, young, chain.checkpoint(10)))
  const { code, stdout } = await runAlone(['verify', path])
  assert.equal(code, 0)
  assert.match(stdout, /covered=10 own=10 of 12\n$/)
})

test('an export cut off at an older checkpoint fails against a later kept checkpoint', async (t) => {
  const chain = makeQuarter()
  const files = temporaryFiles(t)
  const path = files.write('short.ndjson', exportOf(chain, chain.lines.slice(0, 6), chain.checkpoint(6)))
  const { code, stdout } = await runAlone(['verify', path])
  assert.equal(code, 0)
  assert.match(stdout, /covered=6 own=6 of 6\n$/)
  const kept = files.write('kept.note', chain.checkpoint(10))
  const found = await runAlone(['verify', path, '--checkpoint', kept])
  assert.equal(found.code, 1)
  assert.match(found.stdout, /code=checkpoint_beyond_chain /)
})

test('a tail thinned to a minute fails --strict, and its last line shows the missing checkpoint', async (t) => {
  const chain = makeQuarter()
  const files = temporaryFiles(t)
  const kept = files.write('kept.note', chain.checkpoint(6))
  const left = chainAnew(
    chain,
    chain.lines.filter((_, seq) => seq < 6 || seq > 9),
  )
  const path = files.write('left.ndjson', exportOf(chain, left, chain.checkpoint(6)))
  const given = ['verify', path, '--key', chain.firstSigner.kidHex, '--checkpoint', kept]
  assert.match((await runAlone(given)).stdout, /^INTEGRITY_OK .*covered=6 own=6 of 9\n$/)
  const { code, stdout } = await runAlone([...given, '--strict'])
  assert.equal(code, 1, stdout)
  assert.match(
    stdout,
    /^INTEGRITY_FAILED code=checkpoint_missing_tail reason="the ledger's own checkpoint covers 6 of 9/,
  )
})

test('an honest export verifies by --strict, and its last line shows both checkpoints', async (t) => {
  const chain = makeQuarter()
  const files = temporaryFiles(t)
  const kept = files.write('kept.note', chain.checkpoint(6))
  const given = ['--strict', '--key', chain.firstSigner.kidHex, '--checkpoint', kept]
  for (const own of [13, 11]) {
    const path = files.write('honest.ndjson', exportOf(chain, chain.lines, chain.checkpoint(own)))
    const { code, stdout } = await runAlone(['verify', path, ...given])
    assert.equal(code, 0, stdout)
    assert.match(stdout, new RegExp(`keys=given checkpoint=given covered=6 own=${own} of 13\n$`))
  }
})

test('a kept checkpoint covers a tail without own checkpoint; --strict requires the own one too', async (t) => {
  const chain = makeQuarter()
  const files = temporaryFiles(t)
  const kept = files.write('kept.note', chain.checkpoint(11))
  const path = files.write('stopped.ndjson', exportOf(chain, chain.lines, chain.checkpoint(6)))
  const given = ['--key', chain.firstSigner.kidHex, '--checkpoint', kept]
  const lax = await runAlone(['verify', path, ...given])
  assert.equal(lax.code, 0)
  assert.match(lax.stdout, /covered=11 own=6 of 13\n$/)
  const strict = await runAlone(['verify', path, ...given, '--strict'])
  assert.equal(strict.code, 1)
  assert.match(
    strict.stdout,
    /code=checkpoint_missing_tail reason="the ledger's own checkpoint covers 6 of 13/,
  )
})

test('a late checkpoint fails verify until it comes, and is no fault for the audit', async (t) => {
  // The second entry must be a minute later than the first. The database accepts times that differ by at most 30 s from
  // its own. So the server's clock is 27 s slow for the first entry and 30 s fast for the second. The test waits for
  // the remaining 3 s.
  const offset = { ms: -27_000 }
  const app = await buildTestApp(t, { now: () => Date.now() + offset.ms })
  const audit = await auditOf(t, app)
  const before = Date.now()
  await app.notarize()
  offset.ms = 29_900
  await sleep(Math.max(0, before + 3_200 - Date.now()))
  await app.notarize(genericBody())

  const files = temporaryFiles(t)
  const verifyExport = async (...options: string[]) => {
    const { body } = await app.send('GET', '/v1/export')
    return runAlone(['verify', files.write('export.ndjson', body), ...options])
  }
  const database = ['verify', '--database', app.database.superuserUrl]
  for (const { code, stdout } of [await verifyExport(), await runAlone(database)]) {
    assert.equal(code, 1)
    assert.match(stdout, /code=checkpoint_missing_tail .*no worker runs, while it has a fault/)
  }

  const ledgerId = parseId('led', app.ledger.ledger.id)
  const auditId = app.deps.entropy.uuidv7(Date.now())
  await requestAudit(audit.pool, ledgerId, auditId, null)
  const job = { id: crypto.randomUUID(), signal: new AbortController().signal }
  const deps = { pool: audit.pool, log: audit.follower.log, database: app.database.workerUrl }
  const { storedCheckpoints: kept } = audit.publisher
  await runAudit({ ...deps, storedCheckpoints: kept, stopping: job.signal }, { ledgerId, auditId }, job)
  const found = await findAudit(audit.pool, ledgerId, auditId)
  assert.equal(found!.ok, true, JSON.stringify(found))
  assert.match(found!.report!.notices.join(), /the newest checkpoint covers 0 entries/)
  assert.deepEqual(await openFaults(audit), [])

  await publishCheckpoints(audit.publisher)
  for (const { code, stdout } of [await verifyExport(), await runAlone(database)]) {
    assert.equal(code, 0, stdout)
    assert.match(stdout, /checkpoint=own covered=5 own=5 of 5\n$/)
  }
})
