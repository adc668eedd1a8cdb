import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toHex } from '../../src/proof/bytes.ts'
import type { Signer } from '../../src/proof/crypto.ts'
import { uuidOfBytes } from '../../src/proof/ids.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { Signers } from '../../src/signing/signers.ts'

const [OLD, NEW] = [1, 2].map((n) =>
  makeEd25519Signer(nativeProviders.sha256, new Uint8Array(32).fill(n)),
) as [Signer, Signer]
const LEDGER = { ledgerId: uuidOfBytes(new Uint8Array(16).fill(1)), envelopeKid: toHex(OLD.kid) }

/** Sets up a deployment with only the old key. The test may change the deployment's database and clock. */
function setUp() {
  const world = {
    keys: [OLD] as Signer[],
    kid: toHex(OLD.kid) as string | null,
    nowMs: 0,
    loads: 0,
    looks: 0,
    fault: null as Error | null,
  }
  const signers = new Signers({
    async loadSigners() {
      world.loads++
      if (world.fault) throw world.fault
      return world.keys
    },
    async findEnvelopeKid() {
      world.looks++
      if (world.fault) throw world.fault
      return world.kid
    },
    now: () => world.nowMs,
  })
  return { world, signers }
}

const rotated = (world: ReturnType<typeof setUp>['world']) =>
  Object.assign(world, { keys: [OLD, NEW], kid: toHex(NEW.kid) })

test('a known key signs at once, without a query', async () => {
  const { world, signers } = setUp()
  assert.equal(await signers.load(), OLD)
  assert.equal(signers.signerOf(LEDGER), OLD)
  assert.deepEqual([world.loads, world.looks], [1, 0])
})

test('load returns the newest key, and the same signer for a known key', async () => {
  const { world, signers } = setUp()
  await signers.load()
  rotated(world)
  assert.equal(await signers.load(), NEW)
  assert.equal(signers.signerOf(LEDGER), OLD, 'ledgers move one by one')
})

test('many ledgers that need a new key at the same moment load the keys once', async () => {
  const { world, signers } = setUp()
  await signers.load()
  rotated(world)
  const ledgers = Array.from({ length: 50 }, (_, n) => ({
    ledgerId: uuidOfBytes(new Uint8Array(16).fill(n)),
    envelopeKid: toHex(NEW.kid),
  }))
  const found = await Promise.all(ledgers.map((ledger) => signers.signerOf(ledger)))
  assert.deepEqual([...new Set(found)], [NEW])
  assert.equal(world.loads, 2)
})

test('a load that began before the key was made is followed by another load', async () => {
  const { world, signers } = setUp()
  await signers.load()
  const ledger = { ...LEDGER, envelopeKid: toHex(NEW.kid) }
  const early = signers.signerOf({ ...LEDGER, envelopeKid: 'f'.repeat(64) })
  const late = signers.signerOf(ledger)
  rotated(world)
  assert.equal(await late, NEW)
  await assert.rejects(Promise.resolve(early), /cannot open the ledger's envelope key f{64}/)
})

test('many entries that are stale at once cause one lookup of the current key', async () => {
  const { world, signers } = setUp()
  await signers.load()
  rotated(world)
  const found = await Promise.all(
    Array.from({ length: 100 }, () => signers.signerAfterStale(LEDGER, OLD.kid)),
  )
  assert.deepEqual([...new Set(found)], [NEW])
  assert.deepEqual([world.loads, world.looks], [2, 1])
})

test('callers that still name the old key get the new signer for 10 s', async () => {
  const { world, signers } = setUp()
  await signers.load()
  rotated(world)
  await signers.signerAfterStale(LEDGER, OLD.kid)
  assert.equal(await signers.signerOf(LEDGER), NEW)
  world.nowMs = 9_999
  assert.equal(await signers.signerOf(LEDGER), NEW)
  assert.equal(world.looks, 1)
  world.nowMs = 10_000
  assert.equal(await signers.signerOf(LEDGER), OLD, 'what the caller says is newer')
})

test('an entry that is stale under the key just found causes another lookup', async () => {
  const { world, signers } = setUp()
  await signers.load()
  // The ledger's key is still the old key, so the entry is stale for another reason.
  assert.equal(await signers.signerAfterStale(LEDGER, OLD.kid), OLD)
  rotated(world)
  const found = await Promise.all(
    Array.from({ length: 100 }, () => signers.signerAfterStale(LEDGER, OLD.kid)),
  )
  assert.deepEqual([...new Set(found)], [NEW])
  assert.equal(world.looks, 2)
})

test('a failed lookup is not remembered', async () => {
  const { world, signers } = setUp()
  await signers.load()
  rotated(world).fault = new Error('the database is away')
  await assert.rejects(signers.signerAfterStale(LEDGER, OLD.kid), /away/)
  world.fault = null
  assert.equal(await signers.signerAfterStale(LEDGER, OLD.kid), NEW)
})

test('the error names a key that cannot be opened, or reports a missing ledger', async () => {
  const { world, signers } = setUp()
  await signers.load()
  world.kid = toHex(NEW.kid)
  await assert.rejects(
    signers.signerAfterStale(LEDGER, OLD.kid),
    new RegExp(`cannot open the ledger's envelope key ${toHex(NEW.kid)}`),
  )
  world.kid = null
  await assert.rejects(signers.signerAfterStale(LEDGER, OLD.kid), /no such ledger/)
})

test('load without any key fails with a hint to migrate', async () => {
  const { world, signers } = setUp()
  world.keys = []
  await assert.rejects(signers.load(), /npm run op -- migrate/)
})
