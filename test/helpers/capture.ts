import { Writable } from 'node:stream'

type Capture = Writable & { readonly isTTY: boolean; text(): string }

/** Returns a stream that stores what is written to it. It claims to be a terminal if `isTTY`. */
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
