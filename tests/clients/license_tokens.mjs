// Verifies a licence token for several accounts and URLs, and prints what the verifier says.
const [dist, issuer, account, token, ...urls] = process.argv.slice(2);
const { LicenseTokenVerifier } = await import(`file://${dist}/index.js`);

const saying = (verifying) => verifying.then((claims) => claims.sub, (error) => error.message);
const verifier = new LicenseTokenVerifier(`${issuer}/`, account);
const other = new LicenseTokenVerifier(issuer, "acc_01kd9w7h3n5q8t1v4x6z9b2d0f");
const elsewhere = new LicenseTokenVerifier("https://elsewhere.example", account, {
  fetch: () => fetch(`${issuer}/.well-known/jwks.json`),
});
console.log(JSON.stringify({
  urls: await Promise.all(urls.map((url) => saying(verifier.verify(token, url)))),
  account: await saying(other.verify(token, urls[0])),
  issuer: await saying(elsewhere.verify(token, urls[0])),
  forged: await saying(verifier.verify(`${token.slice(0, -8)}AAAAAAAA`, urls[0])),
}));
