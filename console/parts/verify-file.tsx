import { useRef, useState } from 'preact/hooks'
import type { Verdict, verifyFile } from '../verifier.ts'
import { Section } from './basics.tsx'
import { VerdictSection } from './verdict.tsx'

/** Takes a file, by mouse or keyboard, and shows its verdict. The file is not sent anywhere. */
export function VerifyFile({ verify }: { verify: typeof verifyFile }) {
  const [trusted, setTrusted] = useState('')
  const [file, setFile] = useState<File | null>(null)
  const [isOver, setIsOver] = useState(false)
  const [done, setDone] = useState<string | null>(null)
  const [verdict, setVerdict] = useState<Verdict | null>(null)
  const turn = useRef(0)

  const take = async (given: File | null | undefined, key = trusted) => {
    if (!given) return
    setFile(given)
    setVerdict(null)
    setDone('Verifying…')
    const mine = ++turn.current
    const found = await verify(given, key, (read, total) => {
      if (mine === turn.current) setDone(`Verifying: ${Math.floor((100 * read) / total)} %`)
    }).catch(
      (error: Error): Verdict => ({ ok: false, title: 'Not verified', reason: error.message, basis: [] }),
    )
    if (mine !== turn.current) return
    setVerdict(found)
    setDone(null)
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setIsOver(false)
    take(event.dataTransfer?.files[0])
  }
  return (
    <>
      <Section title="File">
        <form onSubmit={(event) => event.preventDefault()}>
          <label class="wide">
            Key that you trust: the kid of the ledger's first envelope key, or its note key
            <input
              class="mono"
              value={trusted}
              autocomplete="off"
              spellcheck={false}
              onInput={({ currentTarget }) => setTrusted(currentTarget.value)}
              onChange={({ currentTarget }) => take(file, currentTarget.value)}
            />
          </label>
        </form>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the input in it does the same by keyboard */}
        <div
          class={`drop ${isOver ? 'over' : ''}`}
          onDragOver={(event) => {
            event.preventDefault()
            setIsOver(true)
          }}
          onDragLeave={() => setIsOver(false)}
          onDrop={drop}
        >
          <label>
            Drop an export, a bundle, a proof or a receipt here, or choose it
            <input type="file" onChange={({ currentTarget }) => take(currentTarget.files?.[0])} />
          </label>
        </div>
        {file !== null && (
          <p class="quiet">
            {file.name}, {file.size.toLocaleString('en')} bytes
          </p>
        )}
        <p role="status">{done}</p>
      </Section>
      {verdict !== null && <VerdictSection verdict={verdict} />}
    </>
  )
}
