import { useEffect, useState } from 'preact/hooks'
import type { Decoded, EnvelopePart } from '../verifier.ts'
import { type Column, Facts, Failure, Json, Table } from './basics.tsx'

/** An envelope. It is decoded when the reader opens it. */
export function Envelope({ envelope, label }: { envelope: string; label: string }) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Envelope of {label}</summary>
      {isOpen && <Opened envelope={envelope} label={label} />}
    </details>
  )
}

const COLUMNS: Column<EnvelopePart>[] = [
  { name: 'Offset', cell: ({ offset }) => <span class="number mono">{offset}</span> },
  { name: 'Part', cell: ({ name }) => name },
  { name: 'Bytes', cell: ({ hex }) => <code>{spaced(hex)}</code> },
  { name: 'Meaning', cell: ({ meaning }) => meaning },
]

function Opened({ envelope, label }: { envelope: string; label: string }) {
  const [decoded, setDecoded] = useState<Decoded | null>(null)
  const [error, setError] = useState<Error | null>(null)
  useEffect(() => {
    import('../verifier.ts')
      .then(({ decodeEnvelope }) => setDecoded(decodeEnvelope(envelope)))
      .catch(setError)
  }, [envelope])
  if (error !== null) return <Failure error={error} />
  if (decoded === null) return <p class="quiet">Loading…</p>
  return (
    <>
      <Facts
        facts={[
          ['Algorithm', decoded.alg],
          ['Signed by key', <code key="kid">{decoded.kid}</code>],
          ['Issuer', decoded.issuer],
        ]}
      />
      <h3>Statement</h3>
      <Json value={decoded.statement} label={`Statement of ${label}`} />
      <h3>Bytes</h3>
      <div class="bytes">
        <Table
          caption={`Bytes of ${label}`}
          columns={COLUMNS}
          rows={decoded.parts}
          keyOf={({ offset, name }) => `${offset} ${name}`}
        />
      </div>
    </>
  )
}

function spaced(hex: string): string {
  return hex.replaceAll(/(..)(?=.)/g, '$1 ')
}
