import { Writable } from 'node:stream'

type Capture = Writable & { readonly isTTY: boolean; text(): string }

export function capture(isTTY = false): Capture {
  const pieces: Buffer[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      pieces.push(chunk)
      done()
    },
  })
  return Object.assign(stream, { isTTY, text: () => Buffer.concat(pieces).toString('utf8') })
}
