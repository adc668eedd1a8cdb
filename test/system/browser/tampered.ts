import type { VerificationErrorCode } from '../../../sdk/verify/index.ts'
import type { FilledLedger } from './ledger.ts'

export type Tampered = {
  readonly name: string
  readonly text: string
  readonly code: VerificationErrorCode
  readonly seq: number | null
}

type Line = { envelope: string; chain: string; documents: { document: { query?: string } }[] }

export function makeTampered({ lines, copperSeq, verdictSeq }: FilledLedger): Tampered[] {
  const changed = (seq: number, change: (line: Line) => void) => {
    const line = JSON.parse(lines[seq + 1]!) as Line
    change(line)
    return `${lines.with(seq + 1, JSON.stringify(line)).join('\n')}\n`
  }
  const bit = (line: Line, at: number) => {
    const bytes = Buffer.from(line.envelope, 'base64')
    bytes[bytes.length + at]! ^= 1
    line.envelope = bytes.toString('base64')
  }
  return [
    {
      name: 'one bit of a signature',
      text: changed(copperSeq, (line) => bit(line, -40)),
      code: 'signature_invalid',
      seq: copperSeq,
    },
    {
      name: 'one bit of a verdict',
      text: changed(verdictSeq, (line) => bit(line, -80)),
      code: 'signature_invalid',
      seq: verdictSeq,
    },
    {
      name: 'one bit of a payload',
      text: changed(copperSeq, ({ documents }) => {
        // The letters p and q differ in one bit.
        documents[0]!.document.query = 'qrice of copper'
      }),
      code: 'document_digest',
      seq: copperSeq,
    },
    {
      name: 'one bit of a chain hash',
      text: changed(copperSeq, (line) => {
        const last = (Number.parseInt(line.chain.at(-1)!, 16) ^ 1).toString(16)
        line.chain = line.chain.slice(0, -1) + last
      }),
      code: 'chain_broken',
      seq: copperSeq,
    },
    {
      name: 'one entry less',
      text: `${lines.toSpliced(copperSeq + 1, 1).join('\n')}\n`,
      code: 'seq_not_dense',
      seq: copperSeq,
    },
    {
      name: 'a cut-off download',
      text: lines.slice(0, -1).join('\n'),
      code: 'export_incomplete',
      seq: null,
    },
  ]
}
