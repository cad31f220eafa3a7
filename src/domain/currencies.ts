/**
 * Minor units of the currencies of ISO 4217.
 *
 * Source: ISO 4217 "List One" of the maintenance agency (SIX), edition of 2024-06-25 with the later amendments (CUC
 * and BGN withdrawn, XCG for ANG, XAD added): the 165 codes with minor units of the edition of 2026-09-17, checked by
 * their counts. The agency's funds codes are among them (CLF, UYW, USN, ...). Codes without minor units are not
 * (precious metals, XDR, XSU, XUA, XBA-XBD, XTS, XXX): no amount can be authorized in them.
 * Never `Intl`: its digits are for display and differ from ISO 4217 for several live currencies.
 */
const CODES_BY_EXPONENT: readonly (readonly [exponent: number, codes: string])[] = [
  [0, `BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF`],
  [
    2,
    `
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE
    CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD
    HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK
    MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD
    RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH
    USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG
  `,
  ],
  [3, `BHD IQD JOD KWD LYD OMR TND`],
  [4, `CLF UYW`],
];

const EXPONENTS: ReadonlyMap<string, number> = new Map(
  CODES_BY_EXPONENT.flatMap(([exponent, codes]) =>
    codes
      .trim()
      .split(/\s+/)
      .map((code) => [code, exponent] as const),
  ),
);

/** How many decimals `currency` has (USD: 2); undefined when it is no active code, written in capitals. */
export function minorUnitExponent(currency: string): number | undefined {
  return EXPONENTS.get(currency);
}
