import assert from 'node:assert/strict'
import { test } from 'node:test'
import { genericBody } from '../../helpers/app.ts'
import { type Organisation, startOrganisations } from '../../helpers/federation.ts'
import { digestOf, makeId, makeSigner, saltDocument, type TestLine } from '../../helpers/test-chain.ts'
import {
  appendingOf,
  lookAtVictims,
  Mallory,
  meetMallory,
  offering,
  type SentLine,
  toSent,
} from './mallory.ts'
import { unchanged, verifyOwnExport } from './unchanged.ts'

/* Tests false entries that a peer signs with its real key and sends correctly. */

type Line = TestLine | SentLine

/** Asserts that the last line is refused with the code, and that the victim appends nothing. */
async function refuses(
  mallory: Mallory,
  lines: Line | readonly Line[],
  code: string,
  more: object = {},
): Promise<void> {
  const sent = Array.isArray(lines) ? (lines as readonly Line[]) : [lines as Line]
  const outcomes = await unchanged(mallory.victim, () => mallory.outcomes(sent, more))
  const { outcome, code: found, detail } = outcomes.at(-1)
  assert.deepEqual([outcome, found], ['refused', code], `${detail}`)
}

function codesOf(outcomes: readonly { readonly outcome: string; readonly code?: string }[]): string[] {
  return outcomes.map(({ outcome, code }) => code ?? outcome)
}

async function refusedAsWhole(mallory: Mallory, entries: readonly SentLine[]): Promise<void> {
  const { status, body } = await mallory.request('entries', { entries })
  assert.deepEqual([status, body.code], [422, 'invalid_request'])
}

/** Signs another entry in place of the line. The line must be the last line of Mallory's chain. */
function instead(mallory: Mallory, line: TestLine, predicate: object, more: object = {}): TestLine {
  mallory.chain.forget()
  const appending = appendingOf(line)
  return mallory.chain.append({ ...appending, predicate: { ...appending.predicate, ...predicate }, ...more })
}

test('entries that the peer may not send, or that are not shared, are refused', async (t) => {
  const mallory = await meetMallory(t)
  const { victim, chain } = mallory
  const created = mallory.record()
  await mallory.take([created.last()])
  const { id } = await victim.ask('POST', '/v1/records', { body: { type: 'task/1', payload: {} } })
  const victims = await lookAtVictims(victim, id)

  await t.test('entries about the peer’s ledger alone', async () => {
    for (const line of chain.lines.slice(0, 3)) await refuses(mallory, line, 'not_shared')
    await refuses(mallory, chain.notarize(), 'not_shared')
    await refuses(mallory, chain.notarizeBatch(2), 'not_shared')
    await refuses(mallory, chain.restore(), 'not_shared')
  })
  await t.test('a record that the peer shares with others, or with nobody', async () => {
    const elsewhere = mallory.record({ share: [{ peer: makeId('peer'), documents: 'whole' }] })
    await refuses(mallory, elsewhere.last(), 'not_shared')
    await refuses(mallory, mallory.record({ share: undefined }).last(), 'not_shared')
    const later = chain.append({
      kind: 'record-shared',
      subjects: [elsewhere.about],
      predicate: {
        ...chain.acting(),
        record: elsewhere.record,
        share: [{ peer: makeId('peer'), documents: 'whole' }],
      },
    })
    await refuses(mallory, later, 'not_shared')
  })
  await t.test('an entry that another key has signed', async () => {
    const line = mallory.record().last()
    await refuses(mallory, instead(mallory, line, {}, { signer: makeSigner() }), 'key_unknown')
    const forged = instead(
      mallory,
      mallory.record().last(),
      {},
      { signer: { ...mallory.signer, sign: makeSigner().sign } },
    )
    await refuses(mallory, forged, 'signature_invalid')
  })
  await t.test('an entry with a byte changed', async () => {
    const line = mallory.record().last()
    const envelope = Buffer.from(line.envelope, 'base64')
    envelope[100]! ^= 1
    const [{ outcome }] = await unchanged(victim, () =>
      mallory.outcomes([{ ...toSent(line), envelope: envelope.toString('base64') }]),
    )
    assert.equal(outcome, 'refused')
    await refuses(
      mallory,
      { ...toSent(line), envelope: Buffer.from(`${line.envelope}AAAA`, 'base64').toString('base64') },
      'cbor_malformed',
    )
  })
  await t.test('an entry that the victim itself has signed', async () => {
    for (const line of await ownEntries(victim))
      await refuses(mallory, { seq: line.seq + 10_000, envelope: line.envelope }, 'key_unknown')
  })
  await t.test('a step, a verdict or a creation of the victim’s own record', async () => {
    const fake = mallory.record({}, { record: victims.id })
    const created = fake.last()
    await refuses(mallory, created, 'not_home')
    await refuses(mallory, fake.activate(), 'not_home')
    await refuses(mallory, fake.submit(), 'not_home')
    await refuses(mallory, fake.verify(), 'not_home')
    await refuses(mallory, fake.judge(), 'not_home')
    await refuses(mallory, mallory.chain.sayErased(created), 'not_shared')
    const shared = mallory.chain.append({
      kind: 'record-shared',
      subjects: [fake.about],
      predicate: {
        ...chain.acting(),
        record: victims.id,
        share: [{ peer: mallory.peer, documents: 'whole' }],
      },
    })
    await refuses(mallory, shared, 'not_home')
  })
  await t.test('a creation of a record in one of the victim’s batches', async () => {
    const body = { records: Array.from({ length: 66 }, () => genericBody()) }
    const { records } = await victim.ask('POST', '/v1/records/batch', { body })
    for (const place of [0, 63, 65])
      await refuses(mallory, mallory.record({}, { record: records[place].id }).last(), 'not_home')
  })
  await t.test('an offer for a record that is not shared with the peer', async () => {
    const line = offering(mallory, victims, 'record-activated')
    await refuses(mallory, line, 'not_shared')
    await refuses(
      mallory,
      offering(mallory, { ...victims, id: makeId('rec') }, 'record-activated'),
      'not_shared',
    )
  })
  await verifyOwnExport(victim)
})

test('entries of a record are taken in order, once, and only if they may follow', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const gated = mallory.record()
  const created = gated.last()
  const activated = gated.activate()
  const submitted = gated.submit()

  await t.test('an entry that comes too early is answered missing, and later taken in order', async () => {
    const outcomes = await unchanged(victim, () => mallory.outcomes([submitted, activated]))
    assert.deepEqual(
      outcomes.map(({ outcome, record, version }) => [outcome, record, version]),
      [
        ['missing', gated.record, 1],
        ['missing', gated.record, 1],
      ],
    )
    await mallory.take([created])
    const [late] = await unchanged(victim, () => mallory.outcomes([submitted]))
    assert.deepEqual([late.outcome, late.version], ['missing', 2])
    assert.deepEqual(codesOf(await mallory.outcomes([submitted, activated])), ['missing', 'received'])
    await mallory.take([submitted])
  })
  await t.test('a repeated entry changes nothing', async () => {
    const first = await unchanged(victim, () => mallory.outcomes([created, activated, submitted]))
    const again = await unchanged(victim, () => mallory.outcomes([submitted, created, activated]))
    assert.deepEqual(again, [first[2], first[0], first[1]])
    const fresh = toSent(mallory.record().last())
    await unchanged(victim, () => refusedAsWhole(mallory, [fresh, fresh]))
    const outcomes = await mallory.outcomes([fresh, { ...fresh, seq: 6_000 }])
    assert.deepEqual(codesOf(outcomes), ['received', 'fork'])
  })
  await t.test('a second entry for one version is refused as a fork, and stored', async () => {
    const before = (await victim.ask('GET', `/v1/peers/${mallory.peer}/forks`)).data.length
    const other = mallory.chain.append({
      ...appendingOf(activated),
      predicate: { ...appendingOf(activated).predicate, recordedAt: '2026-11-20T13:00:00.000Z' },
    })
    // Mallory signs another entry with version 2 and sends it twice: with its own seq, and with the seq of the first
    // entry with version 2.
    await refuses(mallory, other, 'fork')
    await refuses(mallory, { ...toSent(other), seq: activated.seq }, 'fork')
    const stranger = mallory.record().last()
    await refuses(mallory, { ...toSent(stranger), seq: created.seq }, 'fork')
    const { data } = await victim.ask('GET', `/v1/peers/${mallory.peer}/forks`)
    assert.equal(data.length, before + 2, 'by leaf')
    const fork = data.find(({ leaf }: { leaf: string }) => leaf === other.leaf)
    assert.deepEqual(
      [fork.held, fork.record, fork.version, fork.envelope],
      [activated.leaf, gated.record, 2, other.envelope],
    )
    const twice = [mallory.record().last(), mallory.record().last()].map((line) => ({
      ...toSent(line),
      seq: 5_000,
    }))
    await unchanged(victim, () => refusedAsWhole(mallory, twice))
  })
  await t.test('a step that does not follow', async () => {
    const verified = gated.verify()
    for (const [predicate, code] of [
      [{ previous: activated.leaf }, 'previous_mismatch'],
      [{ from: 'ACTIVE' }, 'transition_refused'],
      [{ version: 2 ** 31 - 1 }, 'missing'],
      [{ version: 2 ** 31 }, 'version_mismatch'],
      [{ version: 2 ** 53 - 1 }, 'version_mismatch'],
    ] as const) {
      const line = instead(mallory, verified, predicate)
      if (code !== 'missing') await refuses(mallory, line, code)
      else {
        const [outcome] = await unchanged(victim, () => mallory.outcomes([line]))
        assert.deepEqual([outcome.outcome, outcome.version], ['missing', 4])
      }
    }
    const last = instead(mallory, mallory.chain.lines.at(-1)!, appendingOf(verified).predicate)
    await mallory.take([last])
  })
  await verifyOwnExport(victim)
})

test('documents must be signed, shared, and no larger than a ledger’s own', async (t) => {
  const mallory = await meetMallory(t)
  const { victim } = mallory
  const big = 'x'.repeat(300_000)
  for (const [what, document, code] of [
    ['none', null, 'document_presence'],
    ['another one', { quantity: 101 }, 'document_digest'],
  ] as const) {
    await t.test(what, async () => {
      const { document: shown, ...line } = toSent(mallory.record().last())
      await refuses(mallory, document === null ? line : { ...line, document: { ...shown, document } }, code)
    })
  }
  await t.test('a document larger than the limit of a ledger’s own', async () => {
    const record = makeId('rec')
    const payload = saltDocument(record, { big })
    const line = instead(
      mallory,
      mallory.record({}, { record }).last(),
      {},
      {
        subjects: [{ name: record, sha256: payload.digest }],
        documents: [payload],
      },
    )
    await refuses(mallory, line, 'document_too_large')
  })
  await t.test('a document with another salt, subject or references', async () => {
    const { document, ...line } = toSent(mallory.record().last())
    await refuses(mallory, { ...line, document: { ...document, salt: 'A'.repeat(22) } }, 'document_digest')
    await refuses(mallory, { ...line, document: { ...document, subject: makeId('rec') } }, 'document_digest')
    await refuses(mallory, { ...line, document: { ...document, references: ['a'] } }, 'document_presence')
  })
  await t.test('a document where only digests are shared', async () => {
    const line = mallory.record({ share: [{ peer: mallory.peer, documents: 'digests' }] }).last()
    await refuses(mallory, line, 'document_presence')
    const { document: _, ...alone } = toSent(line)
    await mallory.take([alone])
  })
  await t.test('a type that is missing, or differs from its digest', async () => {
    const definition = { name: 'odd', version: 1, payloadSchema: true }
    const record = () => mallory.record({ type: 'odd/1', typeDigest: digestOf(definition) }).last()
    await refuses(mallory, record(), 'type_missing')
    await refuses(mallory, record(), 'type_missing', { types: [{ ...definition, payloadSchema: {} }] })
    await refuses(mallory, mallory.record({ typeDigest: '22'.repeat(32) }).last(), 'type_missing')
    await refuses(
      mallory,
      mallory.record({ type: 'other/1', typeDigest: digestOf(definition) }).last(),
      'type_missing',
      { types: [definition] },
    )
    const huge = { ...definition, title: big }
    const line = mallory.record({ type: 'odd/1', typeDigest: digestOf(huge) }).last()
    await refuses(mallory, line, 'type_missing', { types: [huge] })
    await mallory.take([record()], { types: [definition] })
    await mallory.take([record()])
  })
  await t.test('an erasure of an unknown entry, of another document, or a second one', async () => {
    const created = mallory.record().last()
    const [kept, gone] = [mallory.record(), mallory.record()]
    await mallory.take([kept.last(), gone.last()])
    await refuses(mallory, mallory.chain.sayErased(created), 'not_shared')
    await refuses(
      mallory,
      mallory.chain.sayErased(kept.last(), 0, { sha256: 'ab'.repeat(32) }),
      'erasure_of_nothing',
    )
    await refuses(
      mallory,
      mallory.chain.sayErased(created, 0, { seq: kept.last().seq }),
      'erasure_of_nothing',
    )
    await refuses(
      mallory,
      mallory.chain.sayErased(mallory.chain.notarize(), 0, { seq: kept.last().seq }),
      'erasure_of_nothing',
    )
    await mallory.take([mallory.chain.sayErased(gone.last())])
    const rows = await victim.sql<{ content: Buffer | null }>(
      'select content from tallystick.received_documents where subject = any ($1)',
      [[kept.record, gone.record]],
    )
    assert.deepEqual(rows.map(({ content }) => content === null).sort(), [false, true])
  })
  await t.test('a record created and erased while the peer was away comes in one request', async () => {
    const gated = mallory.record()
    const created = gated.last()
    const erased = mallory.chain.sayErased(created)
    const { document, ...line } = toSent(created)
    await mallory.take([{ ...line, document: { ...document, salt: null, document: null } }, erased])
  })
  await verifyOwnExport(victim)
})

test('the peer’s own handshake and revocation are taken once', async (t) => {
  const [victim] = await startOrganisations(t, 1)
  const mallory = await Mallory.open(t, victim!)
  await mallory.join(await mallory.invite())
  const record = mallory.record().last()

  await t.test('before the other half of the handshake, records and wrong halves are refused', async () => {
    await refuses(mallory, record, 'peer_not_active')
    const other = instead(mallory, mallory.sayAdded(), { counterpart: 'ab'.repeat(32) })
    await refuses(mallory, other, 'handshake_mismatch')
    const wrong = instead(
      mallory,
      mallory.chain.lines.at(-1)!,
      {},
      { subjects: [{ name: mallory.peer, sha256: 'ab'.repeat(32) }] },
    )
    await refuses(mallory, wrong, 'definition_mismatch')
    mallory.chain.forget()
  })
  await mallory.greet()
  await t.test('a second half of the handshake is refused with handshake_mismatch', async () => {
    const again = mallory.sayAdded()
    await refuses(mallory, again, 'handshake_mismatch')
  })
  await t.test('entries behind the revocation are refused, also within one request', async () => {
    const before = mallory.record().last()
    const revoked = mallory.chain.append({
      kind: 'peer-revoked',
      subjects: [mallory.about()],
      predicate: { ...mallory.chain.acting(), code: 'test' },
    })
    const after = mallory.record().last()
    const outcomes = await mallory.outcomes([before, revoked, after])
    assert.deepEqual(
      outcomes.map(({ outcome, code }) => [outcome, code]),
      [
        ['received', undefined],
        ['received', undefined],
        ['refused', 'peer_not_active'],
      ],
    )
    const { status, body } = await mallory.request('entries', { entries: [toSent(after)] })
    assert.deepEqual([status, body.code], [403, 'peer_revoked'])
  })
  await verifyOwnExport(victim!)
})

async function ownEntries(
  victim: Organisation,
): Promise<{ readonly seq: number; readonly envelope: string }[]> {
  const { body } = await victim.send('GET', '/v1/entries?limit=100')
  return String(body)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}
