import { useState } from 'preact/hooks'
import { PAGE_ROWS } from '../limits.ts'
import {
  type Column,
  Facts,
  Failure,
  Id,
  Json,
  Page,
  Section,
  Shown,
  State,
  Table,
  Time,
} from '../parts/basics.tsx'
import { VerdictSection } from '../parts/verdict.tsx'
import { useAct, useQuery } from '../queries.ts'
import { linkTo } from '../router.ts'
import type { Session } from '../session.ts'
import { forget, keyOf, readTrust, readWitnesses, sizeOf, storeTrust, storeWitnesses } from '../trust.ts'
import type { SignatureView } from '../verifier.ts'

type ListedCheckpoint = { readonly size: number; readonly publishedAt: string }

const COLUMNS: Column<ListedCheckpoint>[] = [
  {
    name: 'Entries',
    cell: ({ size }) => <a href={linkTo('checkpoints', `${size}`)}>{size.toLocaleString('en')}</a>,
  },
  { name: 'Published', cell: ({ publishedAt }) => <Time at={publishedAt} /> },
]

/** Shows the ledger's signed sizes, their witnesses, and the key and checkpoint that this browser stores. */
export function CheckpointsPage({ session, size }: { session: Session; size: string }) {
  const { client } = session
  const list = useQuery((signal) => client.checkpoints.list({ limit: PAGE_ROWS }, { signal }).page(), [])
  const newest = list.data?.data[0]
  const shown = /^\d{1,15}$/.test(size) ? Number(size) : newest?.size
  const [witnesses, setWitnesses] = useState(readWitnesses)
  return (
    <Page title="Checkpoints">
      {shown !== undefined && <One key={shown} session={session} size={shown} witnesses={witnesses} />}
      <Witnesses
        witnesses={witnesses}
        keep={(keys) => {
          storeWitnesses(keys)
          setWitnesses(keys)
        }}
      />
      <StoredKey session={session} />
      <Section title="Published">
        <Shown of={list}>
          {({ data }) => (
            <Table
              caption="Checkpoints"
              columns={COLUMNS}
              rows={data}
              keyOf={({ size }) => size}
              empty="None yet: the first comes a second after the first entry."
            />
          )}
        </Shown>
      </Section>
    </Page>
  )
}

const TONES = { verified: 'good', 'does not verify': 'bad', 'key not known here': 'wait' } as const

const SIGNATURES: Column<SignatureView>[] = [
  { name: 'Signed as', cell: ({ name }) => <code>{name}</code> },
  { name: 'Key id', cell: ({ keyId }) => <code>{keyId}</code> },
  {
    name: 'By',
    cell: ({ role, at }) => (
      <>
        {role}
        {at !== null && (
          <>
            , at <Time at={at} />
          </>
        )}
      </>
    ),
  },
  {
    name: 'Cosignature',
    cell: ({ proof }) => proof !== null && <State state={proof} tone={TONES[proof]} />,
  },
]

function One({
  session: { client, ledger },
  size,
  witnesses,
}: {
  session: Session
  size: number
  witnesses: readonly string[]
}) {
  const asked = useQuery(
    async (signal) => {
      const [note, { readCheckpoint }] = await Promise.all([
        client.checkpoints.get(size, { signal }),
        import('../verifier.ts'),
      ])
      return { note, view: await readCheckpoint(note, keyOf(ledger), witnesses) }
    },
    [size, witnesses],
  )
  return (
    <Shown of={asked}>
      {({ note, view }) => (
        <>
          <VerdictSection verdict={view.verdict} />
          <Section title={`Checkpoint of ${size.toLocaleString('en')} entries`}>
            <Facts
              facts={[
                ['Merkle root', <Id key="root" id={view.root} />],
                ['Chain hash', <Id key="chain" id={view.chain} />],
              ]}
            />
            <h3>Signatures</h3>
            <Table
              caption="Signatures"
              columns={SIGNATURES}
              rows={view.signatures}
              keyOf={({ name, keyId }) => `${name} ${keyId}`}
            />
            <p class="quiet">
              {view.signatures.some(({ proof }) => proof !== null)
                ? 'Verified here: the signature of the note key, and of each witness whose key you entered below.'
                : 'No witness has cosigned it, so only the server says that everybody sees the same history.'}
            </p>
            <details>
              <summary>Note</summary>
              <Json value={note} label="Note" />
            </details>
          </Section>
        </>
      )}
    </Shown>
  )
}

/** Shows the keys of the witnesses that the reader trusts. */
function Witnesses({
  witnesses,
  keep,
}: {
  witnesses: readonly string[]
  keep: (keys: readonly string[]) => void
}) {
  const [given, setGiven] = useState('')
  const { error, act } = useAct()
  const add = (event: Event) => {
    event.preventDefault()
    act(async () => {
      const { requireWitnessKey } = await import('../verifier.ts')
      requireWitnessKey(given.trim())
      keep([...new Set([...witnesses, given.trim()])])
      setGiven('')
    })
  }
  return (
    <Section title="Your witnesses">
      <p>
        A witness cosigns a checkpoint only if it continues the ledger that the witness has seen before. Enter
        the key that its operator publishes, to verify its cosignatures in this browser.
      </p>
      <ul>
        {witnesses.map((key) => (
          <li key={key}>
            <code>{key}</code>{' '}
            <button
              type="button"
              class="do stop"
              onClick={() => keep(witnesses.filter((each) => each !== key))}
            >
              Forget {key.split('+')[0]}
            </button>
          </li>
        ))}
      </ul>
      <form onSubmit={add}>
        <label class="wide">
          Key of a witness, such as witness.example+1a2b3c4d+BAaq…
          <input
            class="mono"
            value={given}
            required
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => setGiven(currentTarget.value)}
          />
        </label>
        <button type="submit" class="do">
          Trust this witness
        </button>
      </form>
      {error !== null && <Failure error={error} />}
    </Section>
  )
}

/** Shows the key and checkpoint that this browser stores. The reader can set and clear them. */
function StoredKey({ session: { ledger } }: { session: Session }) {
  const [kept, setKept] = useState(() => readTrust(ledger.id))
  const [noteKey, setNoteKey] = useState('')
  const pin = (event: Event) => {
    event.preventDefault()
    if (noteKey.trim() === '') return
    storeTrust(ledger.id, { noteKey: noteKey.trim(), isGiven: true, checkpoint: null })
    setKept(readTrust(ledger.id))
  }
  const clear = () => {
    forget(ledger.id)
    setKept(null)
  }
  return (
    <Section title="Stored in this browser">
      <p>
        Records are verified with the key and the checkpoint that this browser stored. A record from another
        history does not verify.
      </p>
      <Facts
        facts={[
          [
            'Note key',
            kept === null ? 'none yet: it is stored when you open a record' : <code>{kept.noteKey}</code>,
          ],
          ['Since', kept && <Time at={kept.since} />],
          [
            'Checkpoint',
            kept?.checkpoint ? `of ${sizeOf(kept.checkpoint).toLocaleString('en')} entries` : null,
          ],
          ["The server's key", <code key="said">{ledger.noteVerifierKey}</code>],
        ]}
      />
      <form onSubmit={pin}>
        <label class="wide">
          Note key from elsewhere (not from this server)
          <input
            class="mono"
            value={noteKey}
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => setNoteKey(currentTarget.value)}
          />
        </label>
        <button type="submit" class="do">
          Use this key
        </button>
        {kept !== null && (
          <button type="button" class="do stop" onClick={clear}>
            Forget
          </button>
        )}
      </form>
    </Section>
  )
}
