import { useEffect, useRef, useState } from 'preact/hooks'
import { type CaseFile, makeCaseFile } from '../case-file.ts'
import { AgentSelect } from '../parts/agent-select.tsx'
import { count, Failure, Page, Section } from '../parts/basics.tsx'
import { DownloadBundle } from '../parts/download-bundle.tsx'
import { VerdictSection } from '../parts/verdict.tsx'
import { useAct } from '../queries.ts'
import type { Session } from '../session.ts'
import { keyOf } from '../trust.ts'
import type { Verdict } from '../verifier.ts'

const today = () => new Date().toISOString().slice(0, 10)

/** Page that makes one file with the records of a period. Whoever verifies the file needs only a key of the ledger. */
export function CaseFilePage({ session }: { session: Session }) {
  const [given, setGiven] = useState({ from: today(), to: today(), agent: '', type: '', trace: '' })
  const [documents, setDocuments] = useState(true)
  const [entries, setEntries] = useState(0)
  const [made, setMade] = useState<(CaseFile & { readonly verdict: Verdict }) | null>(null)
  const { isBusy, error, act } = useAct()
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const set = (name: keyof typeof given) => (value: string) => setGiven({ ...given, [name]: value })
  const make = (event: Event) => {
    event.preventDefault()
    setMade(null)
    setEntries(0)
    running.current = new AbortController()
    const { signal } = running.current
    act(async () => {
      const file = await makeCaseFile(session, { ...given, documents }, setEntries, signal)
      const { verifyCaseFile } = await import('../verifier.ts')
      setMade({ ...file, verdict: await verifyCaseFile(file.content, keyOf(session.ledger)) })
    })
  }
  const text = (name: 'type' | 'trace', label: string, placeholder: string) => (
    <label>
      {label}
      <input
        class="mono"
        value={given[name]}
        placeholder={placeholder}
        onInput={({ currentTarget }) => set(name)(currentTarget.value)}
      />
    </label>
  )
  const day = (name: 'from' | 'to', label: string) => (
    <label>
      {label}
      <input
        type="date"
        required
        value={given[name]}
        onInput={({ currentTarget }) => set(name)(currentTarget.value)}
      />
    </label>
  )
  return (
    <Page title="Case file">
      <p>
        The entries of a period with their documents and proofs, as one file. Anybody with a key of the ledger
        can verify it. Without an agent, a type or a trace it is provably complete. An entry of the ledger
        names who made it.
      </p>
      <Section title="Period">
        <form onSubmit={make}>
          {day('from', 'From (UTC)')}
          {day('to', 'To (inclusive)')}
          <AgentSelect label="Only of this agent" session={session} value={given.agent} set={set('agent')} />
          {text('type', 'Only of this type', 'agent-action/1')}
          {text('trace', 'Only of this trace', '32 hex digits')}
          <label class="row">
            <input
              type="checkbox"
              checked={documents}
              onChange={({ currentTarget }) => setDocuments(currentTarget.checked)}
            />
            With payloads, evidence, values and reasons
          </label>
          <button type="submit" class="do main" disabled={isBusy}>
            Make the file
          </button>
          {isBusy && (
            <button type="button" class="do stop" onClick={() => running.current?.abort()}>
              Stop
            </button>
          )}
        </form>
        <p role="status">
          {isBusy &&
            (entries === 0 ? 'Looking for the period…' : `${count(entries, 'entry', 'entries')} so far…`)}
        </p>
        {error !== null && <Failure error={error} />}
      </Section>
      {made !== null && (
        <VerdictSection verdict={made.verdict}>
          {!made.isAnnounced && <p>The ledger accepts no entries, so it has no entry about this file.</p>}
          {made.verdict.ok && <DownloadBundle name={made.name} lines={made.content} />}
        </VerdictSection>
      )}
    </Page>
  )
}
