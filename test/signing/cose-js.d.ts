declare module 'cose-js' {
  const cose: {
    readonly sign: {
      create(headers: { p: object; u: object }, payload: Uint8Array, signer: { key: object }): Promise<Buffer>
      verify(envelope: Uint8Array, verifier: { key: object }): Promise<Buffer>
    }
  }
  export default cose
}
