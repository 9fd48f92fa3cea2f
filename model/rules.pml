/* The rules of the core. run.mjs takes one away at a time (-DMUTANT=NAME), and shows what then happens. */
/* send conditions */
#define NOT_ENDED 1            /* the filing has not ended */
#define ROWS_PLANNED 2         /* every row is held and planned */
#define APPROVED 3             /* the filing is approved */
#define NOBODY_ELSE 4          /* nobody else holds the mapping */
#define NEW_NUMBER 5           /* attempt n does not exist */
#define ONE_IN_DOUBT 6         /* no other attempt is sending, unknown or accepted (a key) */
#define SAME_EPOCH 7           /* the ledger's epoch is that of the told step */
#define BEAT_IS_KNOWN 8        /* the beat of the told step is one that the ledger has */
#define NOT_RECOVERING 9       /* the ledger is not recovering */
#define READ_WITHIN_HOUR 10    /* the certificates were read whole at most an hour ago */
#define READ_SINCE_FREED 11    /* that reading began after the last row of the mapping was freed */
#define EQUAL_STANDS 12        /* no equal certificate that is nobody's, whatever its age */
#define AGREEING_STANDS 13     /* once freed: no certificate of the document that is nobody's and newer than the first mark */
#define READ_WHOLE 14          /* a reading of a part is none */
#define TWO_LET_GO 15          /* two persons let go what stands against a send */
#define UNREAD_FOR_AN_HOUR 18  /* what is let go unread, and the words for it, hold for an hour */
#define ONLY_WHAT_WAS_SHOWN 16 /* what two persons let go is exactly what both were shown */
#define WRITE_IN_TIME 17       /* nothing is written past the time-out */
/* verdicts */
#define CUT_IS_UNKNOWN 20      /* a request without an answer is unknown */
#define OWN_MARK_ALONE 21      /* that a sender wrote nothing counts for its own mark alone */
#define DUPLICATE_IS_UNKNOWN 22 /* words like "duplicate" are no refusal */
#define REFUSED_AFTER_NOT_FILED 23 /* nor is a refusal of the content after a not_filed attempt */
#define LATE_ACCEPTANCE 24     /* a late acceptance makes the attempt accepted, and holds its row */
#define LATE_BESIDE_ANOTHER 25 /* ... but where another attempt is in doubt it only stores its request */
#define STOPS_PLANNED 29        /* what is learnt late stops what is planned on the mapping */
#define LATE_WORDS 27          /* words like "duplicate" that come late hold the row again */
#define STORED_REQUEST_COUNTS 28 /* ... until that one was not sent or is refused: then the request, or late words, count for their own attempt */
#define ID_OF_ANOTHER 26       /* a request id that another attempt has accepts nothing */
/* adoption of a certificate */
#define ADOPT_AFTER_WINDOW 30  /* in a reading that began after the settle time */
#define ADOPT_WHOLE 31         /* in a whole reading */
#define ADOPT_FALL_EXACT 32    /* the balance fell by exactly this */
#define ADOPT_NOTHING_ELSE 33  /* no other new certificate could explain the fall */
#define ADOPT_NONE_ON_ITS_WAY 34 /* nothing else of ours is on its way on the IRM */
#define ADOPT_AS_MANY 35       /* as many certificates as rows that they fit */
#define ADOPT_NEW 36           /* a certificate first seen after the first mark */
#define ADOPT_EQUAL 37         /* equal, not in the document alone */
#define TWO_NAME 38            /* two persons name a certificate as the row's */
/* not filed */
#define NOT_FILED_WINDOW 40    /* the settle time is over */
#define NOT_FILED_READING 41   /* a reading began after the decision */
#define TWO_AGAINST_EVIDENCE 42 /* two persons where there is evidence */
#define SHOWN_TO_BOTH 43       /* nothing was added to what both were shown */
#define EVIDENCE_CERTIFICATES 44 /* evidence: a certificate that agrees */
#define EVIDENCE_FALL 45       /* evidence: the balance fell */
#define EVIDENCE_UNREAD 46     /* evidence: no whole reading */
#define EVIDENCE_REQUEST 47    /* evidence: a request of the filing */
#define EVIDENCE_WORDS 48      /* evidence: words like "duplicate", or a refusal after not_filed */
#define WORDS_END_IT 49        /* after such words "not filed" ends the filing */
#define DENIAL_WINDOW 50       /* an accepted request without outcome is asked about after the settle time alone */
#define CLOCK_AND_BEATS 51     /* the settle time is over when the clock says so, and ... */
#define BEATS_AND_CLOCK 52     /* ... as many beats */
#define LONGER_WINDOW 53       /* the sender's settle time or the judge's, whichever is longer */
/* following a request, and what is learnt late */
#define ERRED_AFTER_NOT_FILED 60 /* Errored rejects only where no other attempt is not_filed or has a request */
#define ERRED_DUPLICATE 61     /* ... where its words speak of no duplicate */
#define ERRED_OWN_REQUEST 62   /* ... and in a record of our own request, not of one that a person named */
#define LATE_CERTIFICATE 63    /* a certificate that agrees with a freed row holds it again */
/* a ledger that went back */
#define TOLD_REMEMBERED 70     /* the run remembers what it was told to send */
#define TOLD_EPOCH 71          /* and compares the epoch since */
#define TOLD_BEAT 72           /* and the beat */
#define BEATS_HAVE_NAMES 82    /* beats have names: one that was lost is not known again when their number is reached again */
#define FINDING_STICKS 73      /* that the ledger went back sticks to the run until the attempt was inserted */
#define ANOTHER_RUN 74         /* a run that is another, and finds another epoch, makes the next attempt unknown */
#define ANOTHER_RUN_STICKS 75  /* it checks this until it was itself told to send */
#define RESET_IS_ANOTHER 76    /* a run that was reset is another run */
#define WORKERS_SEE_BEATS 77   /* workers compare the beat with what they saw, and renew the epoch */
#define READ_AFTER_RESTORE 78  /* after a restore: a reading that began a settle time after it */
#define OPEN_IS_UNKNOWN 79     /* what was open at the restore, and nobody knows, is unknown */
#define RECORDED_AGAIN_UNKNOWN 80 /* an open run whose filing is gone records it again with an unknown attempt */
#define ANSWER_IS_FINDING 81   /* an answer for an attempt that the ledger lacks makes it recover */

